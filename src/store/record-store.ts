import type { StoreName } from '../memory/store-memory.ts';
import type { StoreOperation } from './store-observer.ts';

/** The texts of a record by the names of its fields, as a backend keeps them. */
export type Fields = ReadonlyMap<string, string>;

/** What differs from what is saved: names and texts in turn, and names of fields that go. */
export type FieldChanges = { readonly set: readonly string[]; readonly gone: readonly string[] };

/**
 * A kind of record: how its state becomes fields and back. A field that a kind does not know stays as it is; `v`, `x` and names
 * that begin with `w:` are the backend's own. `Saved` is what `changes` compares the state with.
 */
export type Kind<State, Saved> = {
  /** Part of its keys. */
  readonly name: string;
  /** What an observer of the store is told of its updates that wait so long. */
  readonly operations: Readonly<Record<'short' | 'long', StoreOperation>>;
  /**
   * The parts of this process's memory that its records and their lists are in, where they are in memory. null: they are in
   * none, for something else bounds them, or there are no lists. `pinned`: where pinned records are; one that is displaced there
   * goes to the others.
   */
  readonly memory: {
    readonly records: StoreName | null;
    readonly lists: StoreName | null;
    readonly pinned?: StoreName;
  };
  /** What its known states take at most where the store is Redis or a file, in parts of what those of all kinds may. Left out: `FEW_KNOWN`. */
  readonly knownPart?: number;
  /**
   * Whether memory keeps the record apart from the others: in `memory.pinned`, or until its end, whatever room there is, for
   * something else bounds it. Left out: never.
   */
  readonly isPinned?: (state: State) => boolean;
  /** What of the state memory weighs apart, and drops where that has no room, while the rest of the record stays. */
  readonly values?: {
    readonly memory: StoreName;
    readonly bytes: (state: State) => number;
    readonly drop: (state: State) => void;
  };
  /** Time from the last update to the record's end, in milliseconds, or what is left of it after an update. */
  readonly ttlMs: number | ((state: State, now: number) => number);
  /** The state where there is no record. */
  readonly create: () => State;
  readonly decode: (fields: Fields) => State;
  /**
   * Brings a state and what is saved of it, which differ in nothing, to what these fields say: for large states of which others change
   * a part at a time. Left out: it is decoded anew.
   */
  readonly refresh?: (state: State, saved: Saved, fields: Fields) => void;
  /** What of a state that was decoded from these fields is saved: all of it. */
  readonly toSaved: (state: State, fields: Fields) => Saved;
  /** What differs from `saved`, which is brought up to date. */
  readonly changes: (state: State, saved: Saved) => FieldChanges;
  /** Elements that decisions have added to the list since this was asked last. */
  readonly takeAdded: (state: State) => readonly string[];
  /** How many elements the list keeps. */
  readonly toKeep: (state: State) => number;
  /** Whether the state is that of no record: it is not kept, and one that was kept is deleted. */
  readonly isEmpty: (state: State) => boolean;
  /** What the state takes of the heap, in bytes, without the list and the values. */
  readonly bytes: (state: State) => number;
  /** Called by memory alone: it has had no room for the record, or the record's time was over. */
  readonly onForgotten?: (state: State) => void;
};

/**
 * Reads the state of a record and changes it. Pure beside that: it may run again on a fresh state, and of its results the
 * last one counts. They must not be parts of the state. `now` is the store's time in Unix milliseconds.
 */
export type Decide<State, Result> = (state: State, now: number) => Result;

/**
 * How long an update waits. `long`: up to a second, until it is kept. `short`: Redis has 50 ms, and a file answers before its
 * commit: for what is worth nothing once this process has died, such as a reservation. `claim`: as `long`, but a file answers at
 * once where the decision saw only what is committed: for what a later update of the same record, which waits, goes on with.
 * `always`: as `long`, and asked also of a store that is known to be away: for what would be lost, and is fenced.
 */
export type UpdateTimeout = 'short' | 'long' | 'claim' | 'always';

/** The records of one kind. */
export type Records<State> = {
  /**
   * Runs `decide` on the record and keeps what it changed, atomically. Memory answers at once. Rejects where the store fails;
   * where its answer did not come in time the change may have been made.
   */
  readonly update: <Result>(
    key: string,
    decide: Decide<State, Result>,
    timeout?: UpdateTimeout,
  ) => Result | Promise<Result>;
  /**
   * What `look` makes of the state, of which nothing is kept; null: there is no record. `only`: the names of the fields that it
   * needs; of the others it may find nothing, for they are not fetched.
   */
  readonly read: <Result>(
    key: string,
    look: Decide<State, Result>,
    only?: readonly string[],
  ) => Result | null | Promise<Result | null>;
  /**
   * A copy of the state as this process saw it last, without its list; null: it has not, or no longer knows. Left out: the
   * records are in this process.
   */
  readonly seen?: (key: string) => State | null;
  /** The last elements of its list, oldest first. */
  readonly list: (key: string, count: number) => readonly string[] | Promise<readonly string[]>;
  readonly delete: (key: string) => void | Promise<void>;
};

/** Time from an update that left this state to the record's end, in whole milliseconds; 0: it is deleted. */
export const toTtlMs = <State>(
  { ttlMs, isEmpty }: Pick<Kind<State, unknown>, 'ttlMs' | 'isEmpty'>,
  state: State,
  now: number,
): number => {
  if (isEmpty(state)) return 0;
  return typeof ttlMs === 'number' ? ttlMs : Math.max(0, Math.min(MOST_TTL_MS, Math.ceil(ttlMs(state, now))));
};

// Ten years: what a damaged record says may be too large a number for a store.
const MOST_TTL_MS = 315_360_000_000;

export const NO_FIELDS: Fields = new Map();

/** Fields of names and texts in turn. */
export const toFields = (words: readonly string[]): Fields => {
  const fields = new Map<string, string>();
  for (let at = 0; at < words.length; at += 2) fields.set(words[at] ?? '', words[at + 1] ?? '');
  return fields;
};

/** A copy of the state, without its list; null where it is that of no record. */
export const copyState = <State, Saved>(kind: Kind<State, Saved>, state: State): State | null => {
  if (kind.isEmpty(state)) return null;
  const { set } = kind.changes(state, kind.toSaved(kind.create(), NO_FIELDS));
  return kind.decode(toFields(set));
};

// Measured with --expose-gc: the record around a state, its keys, and what is saved of it, whose long texts are those of the state.
const KNOWN_BYTES = 1400;

/** What a known state takes of the heap with its values and all that it is known by, in bytes. */
export const toHeapBytes = <State>(
  { bytes, values }: Pick<Kind<State, unknown>, 'bytes' | 'values'>,
  state: State,
): number => KNOWN_BYTES + bytes(state) + (values?.bytes(state) ?? 0);

/** The part of a kind whose records are few, or hardly read again. */
export const FEW_KNOWN = 0.02;

/** Records of all kinds, in one backend. */
export type RecordStore = {
  readonly open: <State, Saved>(kind: Kind<State, Saved>) => Records<State>;
  /**
   * The store's time, as far as this process knows it: by this all ends are told, for the clocks of processes differ. Unix
   * milliseconds, but in a memory that is given another clock.
   */
  readonly now: () => number;
};

/** Whether a backend rejected because something else is at the key of the record: that says nothing of other records. */
export const isNoRecord = (error: unknown): boolean => error instanceof Error && error.message.startsWith('WRONGTYPE');
