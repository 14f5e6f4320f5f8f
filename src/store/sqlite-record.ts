import { type Decide, type FieldChanges, type Fields, type Kind, toTtlMs } from './record-store.ts';

/** What is to be written of one record. */
export type Write = FieldChanges & {
  readonly key: string;
  readonly added: readonly string[];
  /** How many elements the list keeps; null: as many as there are. */
  readonly keep: number | null;
  /** When the record ends, in Unix milliseconds; null: as it was. */
  readonly ends: number | null;
  /** What is in the file under this key is of an earlier life, and goes first; or nothing takes its place. */
  readonly isNew: boolean;
};

/** A record that has changed since the last commit. Asked once, when it is committed. */
export type Dirty = { readonly toWrite: () => Write | null };

const MOST_ELEMENTS = 1.25;
const ENDS_AGAIN = 0.01;

/** One record, in memory as its last update left it. */
export class SqliteRecord<State, Saved> implements Dirty {
  readonly key: string;
  readonly state: State;
  readonly #kind: Kind<State, Saved>;
  /** Of the state as the last update left it; 0: the record is deleted. */
  ttlMs = 0;
  readonly #saved: Saved;
  #isNew: boolean;
  #ends = 0;
  #writtenEnds = 0;
  /** Elements of the list since it was trimmed last; those of before are not known. */
  #elements = Number.POSITIVE_INFINITY;

  constructor(kind: Kind<State, Saved>, key: string, fields: Fields) {
    this.#kind = kind;
    this.key = key;
    this.#isNew = fields.size === 0;
    this.state = this.#isNew ? kind.create() : kind.decode(fields);
    this.#saved = kind.toSaved(this.state, fields);
  }

  decide<Result>(decide: Decide<State, Result>, now: number): Result {
    const result = decide(this.state, now);
    this.ttlMs = toTtlMs(this.#kind, this.state, now);
    this.#ends = now + this.ttlMs;
    return result;
  }

  toWrite(): Write | null {
    if (this.ttlMs === 0) return this.#toDeletion();
    const changes = this.#kind.changes(this.state, this.#saved);
    const added = this.#kind.takeAdded(this.state).map((element) => element.toText());
    const isNew = this.#isNew;
    this.#isNew = false;
    return { ...changes, key: this.key, added, keep: this.#toKeep(added.length), ends: this.#toEnds(), isNew };
  }

  #toDeletion(): Write | null {
    return this.#isNew ? null : { key: this.key, set: [], gone: [], added: [], keep: null, ends: null, isNew: true };
  }

  // A quarter too many stay: a trim for each would cost more than the element. Who reads asks for as many as there should be.
  #toKeep(added: number): number | null {
    const keep = this.#kind.toKeep(this.state);
    this.#elements += added;
    if (added === 0 || this.#elements <= keep * MOST_ELEMENTS) return null;
    this.#elements = keep;
    return keep;
  }

  // An end that is a hundredth of the time too early is no matter.
  #toEnds(): number | null {
    if (Math.abs(this.#ends - this.#writtenEnds) <= this.ttlMs * ENDS_AGAIN) return null;
    this.#writtenEnds = this.#ends;
    return this.#ends;
  }
}
