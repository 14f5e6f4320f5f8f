import type { Decide, RecordStore, Records, UpdateTimeout } from 'recourse-server/store/record-store';
import {
  type Counted,
  type CountTerms,
  confirm,
  hasSuccess,
  noteSuccess,
  type Reservation,
  type Reserved,
  readCounted,
  release,
  reserve,
  type Settlement,
  settle,
  type WindowTerms,
} from './rule-decisions.ts';
import { type Count, ruleKind } from './rule-kind.ts';
import type { Soon } from './steps.ts';

/** Memory has no room for what another scope would count. */
export class TooManyCountsError extends Error {}

const SWEEP_EVERY_MS = 1000;

/** What rules have counted. Memory answers at once; what returns a promise rejects where the store fails. */
export class RuleStore {
  readonly #counts: Records<Count>;
  readonly #now: () => number;
  readonly #most: number;
  /** When each record ends, where they are in the memory of this process; null: they are not. */
  readonly #ends: Map<string, number> | null;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(store: RecordStore, { durability, most }: { readonly durability: string; readonly most: number }) {
    this.#counts = store.open(ruleKind);
    this.#now = store.now;
    this.#most = most;
    this.#ends = durability === 'process' ? new Map() : null;
  }

  reserve(key: string, asked: readonly Reservation[], terms: CountTerms): Soon<readonly Reserved[]> {
    this.#makeRoom(key);
    return this.#update(key, reserve(asked, terms), 'long');
  }

  settle(key: string, settlement: Settlement, terms: WindowTerms): Soon<void> {
    return this.#update(key, settle(settlement, terms), 'always');
  }

  release(key: string, names: readonly string[]): Soon<void> {
    return this.#update(key, release(names), 'always');
  }

  confirm(key: string, names: readonly string[]): Soon<void> {
    return this.#update(key, confirm(names), 'always');
  }

  noteSuccess(key: string, digest: string, withinMs: number): Soon<void> {
    this.#makeRoom(key);
    return this.#update(key, noteSuccess(digest, withinMs), 'always');
  }

  /** null: nothing is counted. */
  hasSuccess(key: string, digest: string, withinMs: number): Soon<boolean | null> {
    return this.#counts.read(key, hasSuccess(digest, withinMs), [`r:${digest}`]);
  }

  /** null: nothing is counted. */
  read(key: string, terms: WindowTerms): Soon<Counted | null> {
    return this.#counts.read(key, readCounted(terms));
  }

  async delete(key: string): Promise<void> {
    this.#ends?.delete(key);
    await this.#counts.delete(key);
  }

  #update<Result>(key: string, decide: Decide<Count, Result>, timeout: UpdateTimeout): Soon<Result> {
    const ends = this.#ends;
    if (ends === null) return this.#counts.update(key, decide, timeout);
    return this.#counts.update(key, (count, now) => {
      const result = decide(count, now);
      if (count.isEmpty) ends.delete(key);
      else ends.set(key, count.endsAt);
      return result;
    });
  }

  /** Throws where there is no room for another record: to forget one would let its rule begin anew. */
  #makeRoom(key: string): void {
    const ends = this.#ends;
    if (ends === null || ends.size < this.#most || ends.has(key)) return;
    const now = this.#now();
    if (now >= this.#sweptAt + SWEEP_EVERY_MS) this.#sweep(ends, now);
    if (ends.size >= this.#most) throw new TooManyCountsError('There is no room for what another scope would count.');
  }

  #sweep(ends: Map<string, number>, now: number): void {
    this.#sweptAt = now;
    for (const [key, endsAt] of ends)
      if (endsAt <= now) {
        ends.delete(key);
        void this.#counts.delete(key);
      }
  }
}
