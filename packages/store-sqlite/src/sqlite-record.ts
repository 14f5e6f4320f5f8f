import { type Decide, type Fields, type Kind, NO_FIELDS, toTtlMs } from 'recourse-server/store/record-store';
import type { SqliteTables } from './sqlite-tables.ts';

const MOST_ELEMENTS = 1.25;
// An end in the file may be wrong by this part of the record's time, and at most by so much.
const ENDS_AGAIN = 0.01;
export const ENDS_AGAIN_MS = 60_000;

/** A record as it is found in the file. `id`: its number there; 0: it is not there. `ends`: in Unix milliseconds. */
export type Found = { readonly id: number; readonly ends: number; readonly fields: Fields };

export const NOT_FOUND: Found = { id: 0, ends: 0, fields: NO_FIELDS };

/** One record, in memory as its last update left it. */
export class SqliteRecord<State, Saved> {
  readonly key: string;
  readonly state: State;
  /** Of the state as the last update left it; 0: the record is deleted. */
  ttlMs = 0;
  readonly #kind: Kind<State, Saved>;
  readonly #saved: Saved;
  #id: number;
  #ends = 0;
  #writtenEnds: number;
  /** Elements of the list since it was trimmed last; those of before are not known. */
  #elements: number;

  constructor(kind: Kind<State, Saved>, key: string, { id, ends, fields }: Found) {
    const isNew = fields.size === 0;
    this.#kind = kind;
    this.key = key;
    this.#id = id;
    this.#elements = isNew ? 0 : Number.POSITIVE_INFINITY;
    this.state = isNew ? kind.create() : kind.decode(fields);
    this.#saved = kind.toSaved(this.state, fields);
    this.#writtenEnds = ends;
  }

  decide<Result>(decide: Decide<State, Result>, now: number): Result {
    const result = decide(this.state, now);
    this.ttlMs = toTtlMs(this.#kind, this.state, now);
    this.#ends = now + this.ttlMs;
    return result;
  }

  /** Writes what has changed since the last commit, or deletes the record. Called once a commit. */
  writeTo(tables: SqliteTables): void {
    if (this.ttlMs === 0) {
      if (this.#id !== 0) tables.delete(this.#id);
      return;
    }
    const { set, gone } = this.#kind.changes(this.state, this.#saved);
    this.#place(tables);
    for (let at = 0; at + 1 < set.length; at += 2) tables.put(this.#id, set[at] ?? '', set[at + 1] ?? '');
    for (const name of gone) tables.drop.run(this.#id, name);
    this.#append(tables);
  }

  #place(tables: SqliteTables): void {
    const wrong = Math.abs(this.#ends - this.#writtenEnds);
    const isWrong = wrong > Math.min(this.ttlMs * ENDS_AGAIN, ENDS_AGAIN_MS);
    if (this.#id === 0) this.#id = tables.add(this.key, this.#ends);
    else if (isWrong) tables.touch.run(this.#ends, this.#id);
    else return;
    this.#writtenEnds = this.#ends;
  }

  // A quarter too many stay: a trim for each would cost more than the element. Who reads asks for as many as there should be.
  #append(tables: SqliteTables): void {
    const added = this.#kind.takeAdded(this.state);
    for (const element of added) tables.append(this.#id, element);
    const keep = this.#kind.toKeep(this.state);
    this.#elements += added.length;
    if (added.length === 0 || this.#elements <= keep * MOST_ELEMENTS) return;
    this.#elements = keep;
    tables.trim.run(this.#id, keep);
  }
}
