import * as z from 'zod';
import { EFFECTS } from '../../contract/failure.ts';
import type { CallSpec } from '../../executor/pending-calls.ts';
import type { MayKeep } from '../../executor/store-observer.ts';
import {
  CALL_LEASE_MS,
  type CallLease,
  type CallListener,
  type CallProgress,
  type CallRecord,
  type CallRecords,
  type CancelRequest,
  type Claim,
  type CommitKind,
  type Creation,
  type ListedCall,
  type PartsWatch,
  RESULT_TTL_MS,
} from '../../pending/call-records.ts';
import { createResultCap, parseObject, withoutRoom } from '../keyed/keyed-results.ts';
import {
  createRedisScript,
  type RedisClient,
  type RedisSubscription,
  type RunRedisScript,
  toPatient,
} from '../redis-client.ts';
import { KEPT_BELOW_PERCENT } from '../redis-space.ts';
import { type CallIndex, createCallIndex, PEEKED } from './call-index.ts';
import { type CallParts, createCallParts } from './call-parts.ts';
import type { PendingLimits } from './memory-call-records.ts';

const LUA = new URL('../lua/', import.meta.url);
// As pending-call.lua publishes.
const CHANNEL = 'recourse:pending';
// Whoever makes a record confirms it with its next command.
const UNCONFIRMED_MS = 60_000;
const LOOK_AFTER_MS = 15_000;
// Of a shorter result next to nothing is gained by leaving its value out.
const BRIEF_FROM_BYTES = 2048;

export type RedisCallRecordsOptions = {
  readonly client: RedisClient;
  /** Asked for nothing before the first `watch`. */
  readonly subscription: Pick<RedisSubscription, 'subscribe'>;
  readonly limits: PendingLimits;
  readonly mayKeep?: MayKeep;
  readonly maxResultBytes?: number;
  readonly leaseMs?: number;
  readonly unconfirmedMs?: number;
  readonly lookAfterMs?: number;
};

/**
 * Records of pending calls in Redis, shared by all replicas and workers: one hash a call, one atomic script a step, each
 * patient for a second. Rejects when Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisCallRecords = (options: RedisCallRecordsOptions): CallRecords => new RedisCallRecords(options);

type Step =
  | 'create'
  | 'confirm'
  | 'withdraw'
  | 'find'
  | 'peek'
  | 'claim'
  | 'begin'
  | 'renew'
  | 'release'
  | 'commit'
  | 'cancel'
  | 'part';

class RedisCallRecords implements CallRecords {
  readonly durability = 'durable';
  readonly #options: RedisCallRecordsOptions;
  readonly #mayKeep: MayKeep;
  readonly #script: RunRedisScript;
  readonly #versions: RunRedisScript;
  readonly leaseMs: number;
  readonly #leaseWord: string;
  readonly #index: CallIndex;
  readonly #listeners = new Set<CallListener>();
  readonly #parts: CallParts;
  #isSubscribed = false;

  constructor(options: RedisCallRecordsOptions) {
    const { client, subscription, limits, leaseMs = CALL_LEASE_MS, lookAfterMs = LOOK_AFTER_MS } = options;
    this.#options = options;
    this.#mayKeep = options.mayKeep ?? (() => true);
    this.#script = createRedisScript(toPatient(client), LUA, ['fields.lua', 'pending-call.lua']);
    this.#versions = createRedisScript(toPatient(client), LUA, ['call-versions.lua']);
    this.leaseMs = leaseMs;
    this.#leaseWord = String(leaseMs);
    const peek = async (key: string) => Peek.parse(await run(this.#script, 'peek', key, this.#leaseWord));
    this.#index = createCallIndex({ client, limits, peek, lookAfterMs });
    this.#parts = createCallParts({ subscription, publish: (lease, part) => this.#runHeld('part', lease, part) });
  }

  // At once, for they lie in three cluster slots. A record without its entries, or the other way round, is not confirmed.
  async create(key: string, spec: CallSpec): Promise<Creation> {
    if (!this.#mayKeep('arguments')) return this.#findKept(key, spec);
    const [made, entered] = await Promise.all([this.#make(key, spec), this.#index.enter(key, spec)]);
    if (made === 'ended') this.#index.leave(key, spec);
    if (made !== 'created') return EXISTS;
    if (entered === 'entered') return { kind: 'created' };
    // Where that fails the record is gone in a minute.
    this.withdraw(key).then(ignore, ignore);
    return entered;
  }

  async confirm(key: string): Promise<'confirmed' | 'gone'> {
    return Done.parse(await run(this.#script, 'confirm', key)) === 1 ? 'confirmed' : 'gone';
  }

  // Its entries are taken out by who finds them: another try of the batch may have entered it again.
  async withdraw(key: string): Promise<void> {
    await run(this.#script, 'withdraw', key, 'asked');
  }

  async find(key: string): Promise<CallRecord | null> {
    return readRecord(await run(this.#script, 'find', key));
  }

  async describe(key: string): Promise<CallRecord | null> {
    return readRecord(await run(this.#script, 'find', key, 'brief'));
  }

  list(): AsyncIterable<readonly ListedCall[]> {
    return this.#index.list();
  }

  async versions(keys: readonly string[]): Promise<readonly string[]> {
    // In a cluster each record lies in a slot of its own.
    const together = this.#options.client.topology === 'cluster' ? 1 : Math.max(1, keys.length);
    const parts = Array.from({ length: Math.ceil(keys.length / together) }, (_, part) =>
      keys.slice(part * together, (part + 1) * together).map(toRecordKey),
    );
    const answers = await Promise.all(parts.map((part) => this.#versions(part, [])));
    return answers.flatMap((answer) => Versions.parse(answer));
  }

  async claim(key: string): Promise<Claim> {
    const claimed = Claimed.parse(await run(this.#script, 'claim', key, this.#leaseWord));
    if (claimed[0] === 'busy') return { kind: 'busy', retryAfterMs: claimed[1] };
    if (claimed[0] !== 'held') return { kind: claimed[0] };
    const record = readRecord(claimed[2]);
    if (record === null) return { kind: 'gone' };
    this.#index.enterAgain(key, record.spec);
    return { kind: 'held', lease: { key, fence: claimed[1] }, record };
  }

  async begin(lease: CallLease): Promise<'held' | 'lost'> {
    return toHold(Done.parse(await this.#runHeld('begin', lease, this.#leaseWord)));
  }

  async renew(lease: CallLease, progress: CallProgress | null): ReturnType<CallRecords['renew']> {
    const text = progress === null ? '' : JSON.stringify(progress);
    const [held, cancel] = Renewed.parse(await this.#runHeld('renew', lease, this.#leaseWord, text));
    return { state: toHold(held), cancel };
  }

  async release(lease: CallLease, lackedAt?: number): Promise<void> {
    await this.#runHeld('release', lease, lackedAt === undefined ? '' : String(lackedAt));
  }

  async commit(lease: CallLease, result: string, { late, unknown }: CommitKind): Promise<'held' | 'lost'> {
    const words = [this.#cap(result), '', late ? '1' : '', unknown ? '1' : '', String(RESULT_TTL_MS)];
    const spec = Text.nullable().parse(await this.#runHeld('commit', lease, ...words));
    if (spec === null) return 'lost';
    const owner = Owner.safeParse(parseObject(spec)).data;
    if (owner !== undefined) this.#index.leave(lease.key, owner);
    return 'held';
  }

  async cancel(key: string, how: Exclude<CancelRequest, 'no'>): Promise<CallRecord | null> {
    return readRecord(await run(this.#script, 'cancel', key, how));
  }

  ofSession(sessionKey: string): Promise<readonly string[]> {
    return this.#index.ofSession(sessionKey);
  }

  findSame(sessionKey: string, fingerprint: string): Promise<string | null> {
    return this.#index.findSame(sessionKey, fingerprint);
  }

  due(most: number): Promise<readonly string[]> {
    return this.#index.due(most);
  }

  watch(listener: CallListener): () => void {
    this.#listeners.add(listener);
    if (!this.#isSubscribed) {
      this.#isSubscribed = true;
      this.#options.subscription.subscribe(CHANNEL, (key) => {
        for (const each of this.#listeners) each(key);
      });
    }
    return () => void this.#listeners.delete(listener);
  }

  publishPart(lease: CallLease, valueJson: string): void {
    this.#parts.publish(lease, valueJson);
  }

  watchParts(key: string, listener: (valueJson: string) => void): PartsWatch {
    return this.#parts.watch(key, listener);
  }

  async #make(key: string, spec: CallSpec): Promise<z.infer<typeof Made>> {
    const { unconfirmedMs = UNCONFIRMED_MS } = this.#options;
    const lifeMs = Math.max(0, Math.ceil(spec.expiresAt - spec.acceptedAt)) + RESULT_TTL_MS;
    const text = JSON.stringify({ ...spec, arguments: '' });
    const words = [text, spec.arguments, String(lifeMs), String(unconfirmedMs)];
    return Made.parse(await run(this.#script, 'create', key, ...words));
  }

  /** What is kept of a result. */
  #cap(result: string): string {
    const capped = createResultCap([], { maxResultBytes: this.#options.maxResultBytes })(result);
    if (Buffer.byteLength(capped) < BRIEF_FROM_BYTES || this.#mayKeep('pending_results')) return capped;
    return withoutRoom(capped);
  }

  /** A call that the store has no room for, unless it is there. */
  async #findKept(key: string, { sessionKey, fingerprint }: CallSpec): Promise<Creation> {
    if ((await this.find(key)) !== null) return EXISTS;
    const same = sessionKey === null ? null : await this.findSame(sessionKey, fingerprint);
    return same === null
      ? { kind: 'full', of: 'store', limit: KEPT_BELOW_PERCENT.arguments }
      : { kind: 'same', key: same };
  }

  #runHeld(step: Step, { key, fence }: CallLease, ...words: readonly string[]): Promise<unknown> {
    return run(this.#script, step, key, String(fence), ...words);
  }
}

const ignore = (): void => undefined;

const EXISTS: Creation = { kind: 'exists' };

// The whole of tenant and handle is the hash tag: a record is one cluster slot, and a tenant is many.
const toRecordKey = (key: string): string => `recourse:{${key}}:call`;

const run = (script: RunRedisScript, step: Step, key: string, ...words: readonly string[]): Promise<unknown> =>
  script([toRecordKey(key)], [step, key, ...words]);

const toHold = (done: 0 | 1): 'held' | 'lost' => (done === 1 ? 'held' : 'lost');

const Text = z.string();
const Done = z.literal([0, 1]);
const Made = z.enum(['created', 'exists', 'ended']);
const Versions = z.array(z.string());
const Peek = z.enum(PEEKED);
const Cancel = z.enum(['no', 'asked', 'forced']);
const Renewed = z.tuple([Done, Cancel]);
// Spec, state, begins, cancel, arguments, progress, lacked, result.
const Words = z.tuple([Text, Text, Text, Text, Text, Text, Text, Text]);

const Claimed = z.union([
  z.tuple([z.enum(['gone', 'ended'])]),
  z.tuple([z.literal('busy'), z.int().positive()]),
  z.tuple([z.literal('held'), z.int().positive(), Words]),
]);

const Progress = z.object({ done: z.number(), total: z.number().nullable(), message: Text.nullable() });

const Spec = z.object({
  requestId: Text,
  requestKey: Text,
  recordKey: Text,
  tenant: Text,
  key: Text.nullable(),
  keyHash: Text.optional(),
  caller: Text,
  callerId: Text.nullable(),
  sessionKey: Text.nullable(),
  index: z.int(),
  id: z.union([Text, z.number(), z.null()]),
  name: Text,
  tool: Text,
  effects: z.enum(EFFECTS),
  background: z.enum(['never', 'optional', 'always']),
  arguments: Text,
  fingerprint: Text,
  timeoutMs: z.number(),
  idempotencyKey: Text.nullable(),
  ticket: Text.nullable(),
  retries: z.number(),
  notify: Text.nullable(),
  traceId: Text.nullable(),
  acceptedAt: z.number(),
  expiresAt: z.number(),
}) satisfies z.ZodType<CallSpec>;

const Owner = Spec.pick({ keyHash: true, caller: true, sessionKey: true });

const Record = z.object({
  spec: Spec,
  state: z.enum(['queued', 'running', 'ended']),
  begins: z.coerce.number().int().nonnegative(),
  cancel: Cancel,
  progress: Progress.nullable(),
  lackedSince: z.coerce.number().nullable(),
  result: Text.nullable(),
});

/** null where there is none, or none that can be believed. */
const readRecord = (answer: unknown): CallRecord | null => {
  const words = Words.nullable().parse(answer);
  if (words === null) return null;
  const [spec, state, begins, cancel, args, progress, lacked, result] = words;
  const read = Record.safeParse({
    spec: { ...parseObject(spec), arguments: args },
    state,
    begins,
    cancel,
    progress: parseObject(progress),
    lackedSince: lacked === '' ? null : lacked,
    result: result === '' ? null : result,
  });
  return read.data ?? null;
};
