import { type BoundedStore, tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import type { Decide, Kind, ListElement, RecordStore, Records } from './record-store.ts';

type Options = { readonly memory: StoreMemory; readonly now: () => number };

/**
 * Records in this process: a decision runs at once on the state itself, without a copy. Of the tenant that holds most the least
 * recently used record is forgotten first.
 */
export const createMemoryRecordStore = (options: Options): RecordStore => ({
  open: (kind) => new MemoryRecords(kind, options),
});

// A list, its array with room to grow.
const LIST_BYTES = 128;

type List = { elements: ListElement[]; bytes: number };

class MemoryRecords<State, Saved> implements Records<State> {
  readonly #kind: Kind<State, Saved>;
  readonly #now: () => number;
  readonly #records: BoundedStore<State>;
  readonly #lists: BoundedStore<List>;

  constructor(kind: Kind<State, Saved>, { memory, now }: Options) {
    this.#kind = kind;
    this.#now = now;
    const lists = memory.open<List>(kind.memory.lists, { tenantOf: tenantOfKey, ttl: null, now });
    this.#lists = lists;
    this.#records = memory.open(kind.memory.records, {
      tenantOf: tenantOfKey,
      ttl: { ms: kind.ttlMs, renewed: 'by_get' },
      now,
      onGone: (key) => void lists.delete(key),
    });
  }

  update<Result>(key: string, decide: Decide<State, Result>): Result {
    const kind = this.#kind;
    const before = this.#records.get(key);
    const state = before ?? kind.create();
    const bytesBefore = before === undefined ? -1 : kind.bytes(state);
    const result = decide(state, this.#now());
    const bytes = kind.bytes(state);
    if (bytes !== bytesBefore && !this.#weigh(key, state, bytes)) return result;
    const added = kind.takeAdded(state);
    if (added.length > 0) this.#append(key, added, kind.toKeep(state));
    return result;
  }

  /** False where it is not kept: it is that of no record, or too much for the store, which then forgot it. */
  #weigh(key: string, state: State, bytes: number): boolean {
    if (this.#records.peek(key) === state) this.#records.weigh(key, bytes);
    else if (!this.#kind.isEmpty(state)) this.#records.set(key, state, bytes);
    return this.#records.peek(key) === state;
  }

  read<Result>(key: string, look: Decide<State, Result>): Result | null {
    const state = this.#records.peek(key);
    return state === undefined ? null : look(state, this.#now());
  }

  list(key: string, count: number): readonly ListElement[] {
    return count === 0 ? [] : (this.#lists.peek(key)?.elements.slice(-count) ?? []);
  }

  delete(key: string): void {
    this.#records.delete(key);
  }

  #append(key: string, added: readonly ListElement[], keep: number): void {
    const before = this.#lists.get(key);
    const list = before ?? { elements: [], bytes: LIST_BYTES };
    for (const element of added) {
      list.elements.push(element);
      list.bytes += element.bytes;
    }
    for (let surplus = list.elements.length - keep; surplus > 0; surplus -= 1)
      list.bytes -= list.elements.shift()?.bytes ?? 0;
    if (before === undefined) this.#lists.set(key, list, list.bytes);
    else this.#lists.weigh(key, list.bytes);
  }
}
