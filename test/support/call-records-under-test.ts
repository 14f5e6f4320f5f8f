import type { Cluster, Redis } from 'ioredis';
import type { CallSpec } from '#src/executor/pending-calls.ts';
import { createByteBudget } from '#src/memory/byte-budget.ts';
import type { CallRecord, CallRecords, Claim } from '#src/pending/call-records.ts';
import { createFallbackCallRecords } from '#src/sessions/calls/fallback-call-records.ts';
import { createMemoryCallRecords, type PendingLimits } from '#src/sessions/calls/memory-call-records.ts';
import { createRedisCallRecords, type RedisCallRecordsOptions } from '#src/sessions/calls/redis-call-records.ts';
import type { RedisClient, RedisSubscription } from '#src/sessions/redis-client.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import { roomyMemory } from './roomy-memory.ts';
import { createManualClock, createStoreLog, toRedisClient } from './session-stores-under-test.ts';

/** Records and what a test may do to them without waiting. */
export type CallRecordsUnderTest = {
  readonly records: CallRecords;
  /** Lets the lease of a call run out. */
  readonly lapse: (key: string) => Promise<void>;
  /** Lets so much time pass that a sweep looks at every call again. */
  readonly passLook: () => Promise<void>;
  /** Lets a minute pass for a record that is not confirmed; another one stays. */
  readonly passMinute: (key: string) => Promise<void>;
  /** Ends the life of a record that has ended a day ago. */
  readonly passDay: (key: string) => Promise<void>;
};

export type CallRecordsTerms = { readonly limits?: Partial<PendingLimits> };
export type CreateCallRecordsUnderTest = (terms?: CallRecordsTerms) => Promise<CallRecordsUnderTest>;

export const ROOMY_LIMITS: PendingLimits = { ofSession: 100, ofKey: 1000, ofService: 10_000 };

export const createMemoryCallsUnderTest: CreateCallRecordsUnderTest = async ({ limits } = {}) => {
  const clock = createManualClock();
  return {
    records: createMemoryCallRecords({
      memory: roomyMemory(),
      now: clock.now,
      budget: createByteBudget({ limitBytes: 64_000_000 }),
      limits: { ...ROOMY_LIMITS, ...limits },
    }),
    lapse: async () => clock.advance(10_001),
    passLook: async () => clock.advance(15_001),
    passMinute: async () => clock.advance(60_001),
    passDay: async () => clock.advance(86_400_001),
  };
};

export const toCallRedisKey = (key: string): string => `recourse:{${key}}:call`;
export const ALL_CALLS = 'recourse:{pending}:calls';
export const ALL_CALLERS = 'recourse:{pending}:callers';

/** Subscribes to nothing. */
export const DEAF: Pick<RedisSubscription, 'subscribe'> = {
  subscribe: () => ({ ready: Promise.resolve(), stop: () => undefined }),
};

/** Messages on a connection for tests, ready when this resolves. */
export const subscribeTo = async (redis: Redis | Cluster): Promise<Pick<RedisSubscription, 'subscribe'>> => {
  const listeners = new Map<string, (message: string) => void>();
  await redis.subscribe('recourse:pending');
  redis.on('message', (channel: string, message: string) => listeners.get(channel)?.(message));
  return {
    subscribe: (channel, listener) => {
      listeners.set(channel, listener);
      const ready = redis.subscribe(channel).then(() => undefined);
      const stop = (): void => void (listeners.delete(channel) && redis.unsubscribe(channel));
      return { ready, stop };
    },
  };
};

export const createRedisRecords = (
  client: RedisClient,
  options: Partial<Omit<RedisCallRecordsOptions, 'limits'>> & CallRecordsTerms = {},
): CallRecords =>
  createRedisCallRecords({
    subscription: DEAF,
    ...options,
    client,
    limits: { ...ROOMY_LIMITS, ...options.limits },
  });

/** The scripts go by the server's clock, which a test cannot move: times in Redis are moved instead. */
export const createRedisCallsUnderTest = async (
  redis: Redis | Cluster,
  subscription: Pick<RedisSubscription, 'subscribe'>,
  { limits = {} }: CallRecordsTerms = {},
): Promise<CallRecordsUnderTest> => {
  await redis.del(ALL_CALLS, ALL_CALLERS);
  return {
    records: createRedisRecords(toRedisClient(redis), { subscription, limits: { ...ROOMY_LIMITS, ...limits } }),
    lapse: async (key) => {
      if ((await redis.hexists(toCallRedisKey(key), 'lease')) === 1)
        await redis.hset(toCallRedisKey(key), 'lease', '1');
    },
    passLook: async () => {
      for (const entry of await redis.zrange(ALL_CALLS, '0', '-1')) await redis.call('ZADD', ALL_CALLS, '1', entry);
    },
    passMinute: async (key) => {
      if ((await redis.pttl(toCallRedisKey(key))) <= 60_000) await redis.del(toCallRedisKey(key));
    },
    passDay: async (key) => {
      if ((await redis.pttl(toCallRedisKey(key))) <= 86_400_000) await redis.del(toCallRedisKey(key));
    },
  };
};

/** The wrapper before records, with an observer that remembers. */
export const createCallFallback = (primary: CallRecords, now = (): number => performance.now()) => {
  const log = createStoreLog();
  const availability = createStoreAvailability({ observer: log.observer, now, onRecovered: () => undefined });
  return { records: createFallbackCallRecords({ primary, availability }), availability, log };
};

let calls = 0;

/** A key that no other test has, and what a call runs by. */
export const createCallSpec = (parts: Partial<CallSpec> = {}): { readonly key: string; readonly spec: CallSpec } => {
  calls += 1;
  const id = `${process.pid}_${calls}`;
  const { tenant = 'tenant' } = parts;
  const spec: CallSpec = {
    requestId: `request-${id}`,
    requestKey: `${tenant}:request-${id}`,
    recordKey: `${tenant}:record-${id}`,
    tenant,
    key: 'key',
    caller: `${tenant}:caller-${id}`,
    callerId: null,
    sessionKey: `${tenant}:session-${id}`,
    index: 0,
    id: 'call_1',
    name: 'x',
    tool: 'x',
    effects: 'write',
    background: 'optional',
    arguments: '{"a":1}',
    fingerprint: `f${calls}`.padEnd(64, '0'),
    timeoutMs: 1000,
    idempotencyKey: null,
    ticket: null,
    retries: 2,
    notify: null,
    traceId: null,
    acceptedAt: 1_800_000_000_000,
    expiresAt: 1_800_003_600_000,
    ...parts,
  };
  return { key: `${tenant}:c_${id.padEnd(22, 'x')}`, spec };
};

/** Creates and confirms. */
export const accept = async (records: CallRecords, parts: Partial<CallSpec> = {}): Promise<string> => {
  const { key, spec } = createCallSpec(parts);
  const created = await records.create(key, spec);
  if (created.kind !== 'created') throw new Error(`The record was not created: ${created.kind}`);
  await records.confirm(key);
  return key;
};

/** Claims a call that is expected to be free. */
export const take = async (records: CallRecords, key: string): Promise<Extract<Claim, { kind: 'held' }>> => {
  const claim = await records.claim(key);
  if (claim.kind !== 'held') throw new Error(`The call is not held: ${claim.kind}`);
  return claim;
};

/** What is known of a call that is expected to be known. */
export const look = async (records: CallRecords, key: string): Promise<CallRecord> => {
  const record = await records.find(key);
  if (record === null) throw new Error('Nothing is known of the call.');
  return record;
};

export const SURE = { late: false, unknown: false };
export const UNKNOWN = { late: false, unknown: true };
export const LATE = { late: true, unknown: false };
