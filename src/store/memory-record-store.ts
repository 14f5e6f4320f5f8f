import { BoundedStore, type BoundedStoreOptions, textBytes } from '../memory/bounded-store.ts';
import type { StoreMemory, StoreName } from '../memory/store-memory.ts';
import { type Decide, type Kind, type RecordStore, type Records, toTtlMs } from './record-store.ts';

type Options = { readonly memory: StoreMemory; readonly now: () => number };

/**
 * Records in this process: a decision runs at once on the state itself, without a copy. Of the tenant that holds most the least
 * recently used record is forgotten first.
 */
export const createMemoryRecordStore = (options: Options) => {
  const opened: { readonly clear: () => void }[] = [];
  return {
    now: options.now,
    open: <State, Saved>(kind: Kind<State, Saved>): Records<State> => {
      const records = new MemoryRecords(kind, options);
      opened.push(records);
      return records;
    },
    /** Forgets all records. */
    clear: (): void => {
      for (const records of opened) records.clear();
    },
  } satisfies RecordStore & { readonly clear: () => void };
};

export type MemoryRecordStore = ReturnType<typeof createMemoryRecordStore>;

// A list with its two arrays, which begin with room for 17; the places of an element in them.
const [LIST_BYTES, ELEMENT_BYTES] = [420, 32] as const;

/** Texts, and what each takes of the heap: an object for both would take half as much as a small text. */
type List = { readonly texts: string[]; readonly sizes: number[]; bytes: number };

class MemoryRecords<State, Saved> implements Records<State> {
  readonly #kind: Kind<State, Saved>;
  readonly #now: () => number;
  readonly #records: BoundedStore<State>;
  /** Records that are kept apart from the others; null where the kind has none. */
  readonly #pinned: BoundedStore<State> | null;
  /** The values of records; null where the kind has none. */
  readonly #values: BoundedStore<State> | null;
  readonly #lists: BoundedStore<List>;
  /** Of a state that weighs what it weighed nothing else has changed, either. */
  readonly #isPlain: boolean;

  constructor(kind: Kind<State, Saved>, { memory, now }: Options) {
    this.#kind = kind;
    this.#now = now;
    this.#isPlain = kind.isPinned === undefined && kind.values === undefined && typeof kind.ttlMs === 'number';
    const open = <Value>(name: StoreName | null, options: Omit<BoundedStoreOptions<Value>, 'limitBytes'>) =>
      name === null
        ? new BoundedStore<Value>({ ...options, limitBytes: Number.POSITIVE_INFINITY })
        : memory.open<Value>(name, options);
    const options: Omit<BoundedStoreOptions<State>, 'limitBytes'> = {
      ttlMs: typeof kind.ttlMs === 'number' ? kind.ttlMs : undefined,
      now,
      onGone: (key, state, reason) => {
        if (reason === 'deleted') return;
        this.#forgetParts(key);
        kind.onForgotten?.(state);
      },
    };
    this.#lists = open<List>(kind.memory.lists, { now });
    this.#values =
      kind.values === undefined
        ? null
        : open(kind.values.memory, {
            ...options,
            onGone: (_key, state, reason) => {
              if (reason !== 'deleted') kind.values?.drop(state);
            },
          });
    this.#records = open(kind.memory.records, options);
    this.#pinned =
      kind.isPinned === undefined
        ? null
        : open(kind.memory.pinned ?? null, {
            ...options,
            onGone: (key, state, reason) => {
              const isDisplaced = reason === 'full' || reason === 'share';
              if (isDisplaced) this.#records.set(key, state, kind.bytes(state), toTtlMs(kind, state, now()));
              else if (reason !== 'deleted') this.#forgetParts(key);
            },
          });
  }

  update<Result>(key: string, decide: Decide<State, Result>): Result {
    const kind = this.#kind;
    const now = this.#now();
    const before = this.#records.get(key, now) ?? this.#pinned?.get(key, now);
    const state = before ?? kind.create();
    const bytesBefore = before === undefined ? -1 : kind.bytes(state);
    const result = decide(state, now);
    const bytes = kind.bytes(state);
    const isSame = this.#isPlain && bytes === bytesBefore;
    if (!isSame && !this.#keep(key, state, bytes, now)) return result;
    const added = kind.takeAdded(state);
    if (added.length > 0) this.#append(key, added, kind.toKeep(state));
    return result;
  }

  /** False where it is not kept: it is that of no record, or too much for the store, which then forgot it. */
  #keep(key: string, state: State, bytes: number, now: number): boolean {
    const lifeMs = toTtlMs(this.#kind, state, now);
    if (lifeMs === 0) {
      this.delete(key);
      return false;
    }
    const isPinned = this.#kind.isPinned?.(state) === true;
    const [store, other] = isPinned ? [this.#pinned, this.#records] : [this.#records, this.#pinned];
    if (store?.peek(key) === state) store.weigh(key, bytes, lifeMs);
    else {
      other?.delete(key);
      store?.set(key, state, bytes, lifeMs);
    }
    if (this.#peek(key) !== state) return false;
    const valueBytes = this.#kind.values?.bytes(state) ?? 0;
    if (valueBytes === 0) this.#values?.delete(key);
    else if (this.#values?.get(key) === state) this.#values.weigh(key, valueBytes, lifeMs);
    else this.#values?.set(key, state, valueBytes, lifeMs);
    return true;
  }

  #peek(key: string): State | undefined {
    return this.#records.peek(key) ?? this.#pinned?.peek(key);
  }

  #forgetParts(key: string): void {
    this.#lists.delete(key);
    this.#values?.delete(key);
  }

  read<Result>(key: string, look: Decide<State, Result>): Result | null {
    const state = this.#peek(key);
    return state === undefined ? null : look(state, this.#now());
  }

  list(key: string, count: number): readonly string[] {
    return count === 0 ? [] : (this.#lists.peek(key)?.texts.slice(-count) ?? []);
  }

  delete(key: string): void {
    this.#records.delete(key);
    this.#pinned?.delete(key);
    this.#forgetParts(key);
  }

  clear(): void {
    this.#records.clear();
    this.#pinned?.clear();
    this.#values?.clear();
    this.#lists.clear();
  }

  #append(key: string, added: readonly string[], keep: number): void {
    const before = this.#lists.get(key);
    const list = before ?? { texts: [], sizes: [], bytes: LIST_BYTES };
    for (const text of added) {
      const size = ELEMENT_BYTES + textBytes(text);
      list.texts.push(text);
      list.sizes.push(size);
      list.bytes += size;
    }
    for (let surplus = list.texts.length - keep; surplus > 0; surplus -= 1) {
      list.texts.shift();
      list.bytes -= list.sizes.shift() ?? 0;
    }
    if (before === undefined) this.#lists.set(key, list, list.bytes);
    else this.#lists.weigh(key, list.bytes);
  }
}
