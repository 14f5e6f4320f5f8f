import { randomUUID } from 'node:crypto';
import type { DueEntry, DueIndex } from '@recourse/background/jobs/due-index';
import type { Write } from 'recourse-server/executor/reconciler';
import { parseObject } from 'recourse-server/sessions/idempotency/result-cap';
import type { Decide, RecordStore, Records } from 'recourse-server/store/record-store';
import type { Sealing, SealPlace } from 'recourse-server/store/seals';
import {
  adoptRun,
  type Begun,
  beginRun,
  claimLook,
  endLook,
  endRun,
  type HandVerdict,
  type Look,
  type LookClaim,
  type LookEnd,
  type LookVerdict,
  markApplied,
  noteRunOver,
  openRun,
  RUN_LEASE_MS,
  type RunEnd,
  type RunEnded,
  renewRun,
  settleByHand,
  withdrawRun,
} from './effect-decisions.ts';
import {
  type Effect,
  type EffectEnd,
  EffectSpec,
  effectKeyOf,
  effectKind,
  type StoredEffect,
  type UnknownFailure,
} from './effect-kind.ts';

export type EffectStoreOptions = {
  readonly store: RecordStore;
  /** Effects that are not settled everywhere, and when each is looked at next. */
  readonly live: DueIndex;
  readonly sealing: Sealing;
};

/** An effect and what it is looked for by. */
export type OpenEffect = { readonly key: string; readonly effect: Effect; readonly spec: EffectSpec };

// A process that dies over a run is noticed as soon as its lease has lapsed.
const LOOK_AFTER_RUN_MS = RUN_LEASE_MS + 100;
const AGAIN_MS = 15_000;

/** The effects of writes: each step is one decision on a record. What returns a promise rejects where the store fails. */
export class EffectStore {
  readonly live: DueIndex;
  readonly #effects: Records<StoredEffect>;
  readonly #sealing: Sealing;

  constructor({ store, live, sealing }: EffectStoreOptions) {
    this.#effects = store.open(effectKind);
    this.live = live;
    this.#sealing = sealing;
  }

  async begin(write: Write): Promise<Begun> {
    const key = effectKeyOf(write);
    const run = { ...this.#seal(key, write), timeoutMs: write.timeoutMs };
    // Entered first: an entry without a record is taken out when it is found.
    const [begun] = await Promise.all([this.#update(key, beginRun(run)), this.#enter(key, write)]);
    return begun;
  }

  /** Has a write looked for of which a mark alone was left. */
  async adopt(write: Write, failure: UnknownFailure): Promise<void> {
    const key = effectKeyOf(write);
    const run = { ...this.#seal(key, write), timeoutMs: write.timeoutMs, failure };
    const entry = { key, holder: write.tenant };
    // One that is entered already keeps its time: who repeats it again and again must not put that off.
    await Promise.all([this.#update(key, adoptRun(run)), this.live.enter(entry, AGAIN_MS)]);
  }

  async renew(key: string, fence: number): Promise<void> {
    await this.#effects.update(key, renewRun(fence), 'always');
    await this.live.enterAgain(entryOf(key), LOOK_AFTER_RUN_MS);
  }

  async withdraw(key: string, fence: number): Promise<void> {
    if (await this.#effects.update(key, withdrawRun(fence), 'always')) await this.live.leave(entryOf(key));
  }

  async open(key: string, fence: number, failure: UnknownFailure, isOver: boolean): Promise<void> {
    await this.#effects.update(key, openRun(fence, failure, isOver), 'always');
    // Who found no record, or an earlier verdict, may have taken out its entry while it began.
    await this.live.enterAgain(entryOf(key), LOOK_AFTER_RUN_MS);
  }

  async noteOver(key: string, fence: number): Promise<void> {
    await this.#effects.update(key, noteRunOver(fence), 'always');
  }

  async end(key: string, fence: number, end: RunEnd): Promise<RunEnded> {
    return this.#effects.update(key, endRun(fence, end), 'always');
  }

  /** Enters, or takes out, an effect whose run has ended so. */
  async enterEnded(key: string, ended: RunEnded): Promise<void> {
    // What a contradiction has changed is to be told elsewhere, too.
    if (ended === 'contradiction') await this.live.enterAgain(entryOf(key), 0);
    else if (ended !== 'agreed') await this.live.leave(entryOf(key));
  }

  claim(key: string, checkMs: number, afterMs: number): Promise<LookClaim> {
    return this.#update(key, claimLook(checkMs, afterMs));
  }

  async endLook(
    key: string,
    look: Look,
    found: LookEnd,
    terms: { readonly delays: readonly number[]; readonly afterMs: number },
  ): Promise<LookVerdict> {
    const verdict = await this.#effects.update(key, endLook(look, found, terms), 'always');
    if (verdict.kind === 'unclear') await this.live.enterAgain(entryOf(key), verdict.nextMs);
    return verdict;
  }

  async settleByHand(key: string, fence: number, end: EffectEnd): Promise<HandVerdict> {
    const verdict = await this.#update(key, settleByHand(fence, end));
    if (verdict.kind === 'settled') await this.live.enterAgain(entryOf(key), AGAIN_MS);
    return verdict;
  }

  /** Notes that a verdict stands everywhere; tells the first who says so. */
  async markApplied(key: string, fence: number): Promise<boolean> {
    const isFirst = await this.#effects.update(key, markApplied(fence), 'always');
    await this.live.leave(entryOf(key));
    return isFirst;
  }

  /** null: there is none, or it does not open here. */
  async find(key: string): Promise<OpenEffect | null> {
    const effect = await this.#effects.read(key, (stored) => (stored.effect === null ? null : { ...stored.effect }));
    const spec = effect === null ? null : this.openSpec(key, effect);
    return effect === null || spec === null ? null : { key, effect, spec };
  }

  /** Whether there is a record, also where it does not open here. */
  async has(key: string): Promise<boolean> {
    return (await this.#effects.read(key, ({ effect }) => effect !== null)) === true;
  }

  /** What an effect is looked for by; null: it does not open here. */
  openSpec(key: string, { spec, creation }: Effect): EffectSpec | null {
    const opened = this.#sealing.seals.open(placeOf(key, creation), spec);
    const read = 'text' in opened ? EffectSpec.safeParse(parseObject(opened.text)).data : undefined;
    if (read !== undefined) return read;
    this.#sealing.onUnopened('call', 'problem' in opened ? opened.problem : 'damaged');
    return null;
  }

  #seal(key: string, write: Write): { readonly creation: string; readonly spec: string } {
    const creation = randomUUID();
    return { creation, spec: this.#sealing.seals.seal(placeOf(key, creation), JSON.stringify(createSpec(write))) };
  }

  // Full: it is looked for when it is repeated.
  async #enter(key: string, { tenant }: Write): Promise<void> {
    const entered = await this.live.enter({ key, holder: tenant }, LOOK_AFTER_RUN_MS);
    if (entered === 'existing') await this.live.enterAgain({ key, holder: tenant }, LOOK_AFTER_RUN_MS);
  }

  async #update<Result>(key: string, decide: Decide<StoredEffect, Result>): Promise<Result> {
    return this.#effects.update(key, decide, 'long');
  }
}

/** The entry of a record: its holder is its tenant. */
export const entryOf = (key: string): DueEntry => ({ key, holder: key.slice(0, key.lastIndexOf(':')) });

const placeOf = (key: string, creation: string): SealPlace => ({ kind: 'effect', key, life: creation, part: 's' });

const createSpec = (write: Write): EffectSpec => {
  const { tool, input, places, ...rest } = write;
  return EffectSpec.parse({
    ...rest,
    tool: tool.name,
    arguments: JSON.stringify(input),
    places: [...places],
    retries: tool.retries,
  });
};
