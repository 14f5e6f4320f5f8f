import { type Decide, type FieldChanges, type Fields, type Kind, toTtlMs } from 'recourse-server/store/record-store';

/** What is to be written of one record. */
export type Write = FieldChanges & {
  readonly added: readonly string[];
  /** How many elements the list keeps; null: as many as there are. */
  readonly keep: number | null;
  /** When the record ends, in Unix milliseconds; null: as it was. */
  readonly ends: number | null;
};

/** A record that has changed since the last commit. */
export type Dirty = {
  readonly key: string;
  /** Its number in the file; 0: it is not there. */
  id: number;
  /** Asked once, when it is committed; null: the record is deleted. */
  readonly toWrite: () => Write | null;
};

const MOST_ELEMENTS = 1.25;
// An end in the file may be wrong by this part of the record's time, and at most by so much.
const ENDS_AGAIN = 0.01;
export const ENDS_AGAIN_MS = 60_000;

/** A record as it is found in the file. */
export type Found = { readonly id: number; readonly ends: number; readonly fields: Fields };

/** One record, in memory as its last update left it. */
export class SqliteRecord<State, Saved> implements Dirty {
  readonly key: string;
  readonly state: State;
  id: number;
  readonly #kind: Kind<State, Saved>;
  /** Of the state as the last update left it; 0: the record is deleted. */
  ttlMs = 0;
  readonly #saved: Saved;
  #ends = 0;
  #writtenEnds: number;
  /** Elements of the list since it was trimmed last; those of before are not known. */
  #elements: number;

  constructor(kind: Kind<State, Saved>, key: string, { id, ends, fields }: Found) {
    const isNew = fields.size === 0;
    this.#kind = kind;
    this.key = key;
    this.id = id;
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

  toWrite(): Write | null {
    if (this.ttlMs === 0) return null;
    const changes = this.#kind.changes(this.state, this.#saved);
    const added = this.#kind.takeAdded(this.state).map((element) => element.toText());
    return { ...changes, added, keep: this.#toKeep(added.length), ends: this.#toEnds() };
  }

  // A quarter too many stay: a trim for each would cost more than the element. Who reads asks for as many as there should be.
  #toKeep(added: number): number | null {
    const keep = this.#kind.toKeep(this.state);
    this.#elements += added;
    if (added === 0 || this.#elements <= keep * MOST_ELEMENTS) return null;
    this.#elements = keep;
    return keep;
  }

  #toEnds(): number | null {
    const wrong = Math.abs(this.#ends - this.#writtenEnds);
    if (wrong <= Math.min(this.ttlMs * ENDS_AGAIN, ENDS_AGAIN_MS)) return null;
    this.#writtenEnds = this.#ends;
    return this.#ends;
  }
}
