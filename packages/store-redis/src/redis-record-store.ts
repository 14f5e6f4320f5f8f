import { BoundedStore } from 'recourse-server/memory/bounded-store';
import {
  type Decide,
  FEW_KNOWN,
  type Fields,
  type Kind,
  type RecordStore,
  type Records,
  toFields,
  type UpdateTimeout,
} from 'recourse-server/store/record-store';
import { KEY_PREFIX } from 'recourse-server/store/shared-connection';
import * as z from 'zod';
import { RedisRecord } from './redis-record.ts';
import { type Swap, type SwapOptions, SwapSender } from './swap-sender.ts';

/**
 * Records in Redis, shared by all replicas. An update decides on the last state that this process knows, and sends what differs
 * together with the version of that state; where another process has written since, the answer is the new state, and it decides again.
 * The updates of a record that come while a swap of it is under way are decided together in the next one. All swaps of a
 * turn of the event loop are one command, in a cluster one each. `cacheBytes`: of the heap, for the last known states of all kinds.
 */
export const createRedisRecordStore = (options: SwapOptions & { readonly cacheBytes: number }): RecordStore => {
  const sender = new SwapSender(options);
  return { open: (kind) => new RedisRecords(kind, sender, options.cacheBytes), now: () => sender.now() };
};

const Texts = z.array(z.string());
const TextsOrNull = z.array(z.string().nullable());

class RedisRecords<State, Saved> implements Records<State> {
  readonly #kind: Kind<State, Saved>;
  readonly #sender: SwapSender;
  readonly #known: BoundedStore<RedisRecord<State, Saved>>;

  constructor(kind: Kind<State, Saved>, sender: SwapSender, cacheBytes: number) {
    this.#kind = kind;
    this.#sender = sender;
    this.#known = new BoundedStore<RedisRecord<State, Saved>>({
      limitBytes: cacheBytes * (kind.knownPart ?? FEW_KNOWN),
      now: Date.now,
    });
  }

  update<Result>(key: string, decide: Decide<State, Result>, timeout: UpdateTimeout = 'short'): Promise<Result> {
    let record = this.#known.get(key);
    if (record === undefined) {
      record = new RedisRecord(this.#kind, this.#toKeys(key), this.#sender, (...weight) =>
        this.#known.weigh(key, ...weight),
      );
      this.#known.set(key, record, 0);
    }
    return record.update(decide, this.#sender.timeouts[timeout === 'short' ? 'short' : 'long']);
  }

  seen(key: string): State | null {
    return this.#known.peek(key)?.copy() ?? null;
  }

  async read<Result>(key: string, look: Decide<State, Result>, only?: readonly string[]): Promise<Result | null> {
    const [hash] = this.#toKeys(key);
    const fields =
      only === undefined
        ? toFields(Texts.parse(await this.#ask('HGETALL', hash)))
        : await this.#readSome(hash, ['v', ...only]);
    return fields.has('v') ? look(this.#kind.decode(fields), this.#sender.now()) : null;
  }

  async #readSome(hash: string, names: readonly string[]): Promise<Fields> {
    const texts = TextsOrNull.parse(await this.#ask('HMGET', hash, ...names));
    return toFields(texts.flatMap((text, at) => (text === null ? [] : [names[at] ?? '', text])));
  }

  async list(key: string, count: number): Promise<readonly string[]> {
    const words = ['LRANGE', this.#toKeys(key)[1], String(-count), '-1'] as const;
    return count === 0 ? [] : Texts.parse(await this.#ask(...words));
  }

  async delete(key: string): Promise<void> {
    await this.#sender.ask('DEL', ...this.#toKeys(key));
    this.#known.peek(key)?.deleted();
  }

  /** A key of another type is no record, and has nothing in it. */
  async #ask(command: string, ...words: string[]): Promise<unknown> {
    try {
      return await this.#sender.ask(command, ...words);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return [];
      throw error;
    }
  }

  // The whole key is the hash tag: a record is one cluster slot, and a tenant is many.
  #toKeys(key: string): Swap['keys'] {
    const hash = `${KEY_PREFIX}:{${key}}:${this.#kind.name}`;
    return [hash, `${hash}:list`];
  }
}
