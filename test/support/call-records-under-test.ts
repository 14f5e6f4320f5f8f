import type { CallRecord, Claim } from '@recourse/background/calls/call-kind';
import type { CallRecords } from '@recourse/background/calls/call-records';
import {
  type CallRecordsOptions,
  createCallRecords,
  type PendingLimits,
} from '@recourse/background/calls/call-records';
import { createLocalSignals, createRedisSignals } from '@recourse/background/calls/call-signals';
import { createDueIndex, createDueIndexes } from '@recourse/background/jobs/due-index';
import { createRedisLiveCalls, createRedisSessionCalls } from '@recourse/background/jobs/redis-due-index';
import { openEmbeddedCallRecords } from '@recourse/background/open-call-records';
import type { RedisClient, RedisSubscription } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import type { Cluster, Redis } from 'ioredis';
import type { CallSpec } from '#src/executor/pending-calls.ts';
import { type ByteBudget, createByteBudget } from '#src/memory/byte-budget.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import type { Sealing } from '#src/store/seals.ts';
import { roomyMemory } from './roomy-memory.ts';
import { createManualClock, toRedisClient } from './session-stores-under-test.ts';

/** Records and what a test may do to them without waiting. */
export type CallRecordsUnderTest = {
  readonly records: CallRecords;
  /** Lets so many milliseconds pass for leases and for looks. */
  readonly pass: (ms: number) => Promise<void>;
  /** Lets the lease of a call run out. */
  readonly lapse: (key: string) => Promise<void>;
  /** Lets so much time pass that a sweep looks at every call again. */
  readonly passLook: () => Promise<void>;
  /** Lets a minute pass for a record that is not confirmed; another one stays. */
  readonly passMinute: (key: string) => Promise<void>;
  /** Ends the life of a record that has ended a day ago. */
  readonly passDay: (key: string) => Promise<void>;
};

export type CallRecordsTerms = {
  readonly limits?: Partial<PendingLimits>;
  /** Left out: the store is never away. */
  readonly onReturn?: CallRecordsOptions['onReturn'];
};
export type CreateCallRecordsUnderTest = (terms?: CallRecordsTerms) => Promise<CallRecordsUnderTest>;

export const ROOMY_LIMITS: PendingLimits = { ofSession: 100, ofKey: 1000, ofService: 10_000 };

/** Records of a store that a process has alone. `keys`: of calls that are in it. */
export const openEmbeddedCalls = (
  store: RecordStore,
  now: () => number,
  {
    limits: some = {},
    keys = [],
    budget = createByteBudget({ limitBytes: 64_000_000 }),
    onReturn = () => undefined,
    ...rest
  }: CallRecordsTerms & {
    readonly sealing?: Sealing;
    readonly keys?: readonly string[];
    readonly budget?: ByteBudget;
  } = {},
): Promise<CallRecords> => {
  const limits = { ...ROOMY_LIMITS, ...some };
  const options = {
    ...rest,
    ...({ store, durability: 'process', budget, limits, makingPauseMs: 1, onReturn } as const),
    signals: createLocalSignals(),
    live: createDueIndex({ limits: { ofHolder: limits.ofKey, ofAll: limits.ofService }, now }),
    openSession: createDueIndexes({ limits: { ofHolder: 1, ofAll: limits.ofSession }, now }),
  };
  return openEmbeddedCallRecords(options, keys);
};

const createEmbeddedUnderTest = async (
  toStore: (now: () => number) => RecordStore,
  terms?: CallRecordsTerms,
): Promise<CallRecordsUnderTest> => {
  const clock = createManualClock();
  return {
    records: await openEmbeddedCalls(toStore(clock.now), clock.now, terms),
    pass: async (ms) => clock.advance(ms),
    lapse: async () => clock.advance(10_001),
    passLook: async () => clock.advance(15_001),
    passMinute: async () => clock.advance(60_001),
    passDay: async () => clock.advance(86_400_001),
  };
};

export const createMemoryCallsUnderTest: CreateCallRecordsUnderTest = (terms) =>
  createEmbeddedUnderTest((now) => createMemoryRecordStore({ memory: roomyMemory(), now }), terms);

export const createSqliteCallsUnderTest: CreateCallRecordsUnderTest = (terms) => {
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const options = { path: ':memory:', durable: 'process', cacheBytes: 10_000_000, onFailed } as const;
  return createEmbeddedUnderTest((now) => new SqliteRecordStore({ ...options, now }), terms);
};

export const toCallRedisKey = (key: string): string => `recourse2:{${key}}:call`;
export const toSessionCallsKey = (sessionKey: string | null): string => `recourse2:{${sessionKey}}:pending`;
export const ALL_CALLS = 'recourse2:{pending}:calls';
export const ALL_CALLERS = 'recourse2:{pending}:callers';

/** Subscribes to nothing. */
export const DEAF: Pick<RedisSubscription, 'subscribe'> = {
  subscribe: () => ({ ready: Promise.resolve(), stop: () => undefined }),
};

/** Messages on a connection for tests, ready when this resolves. */
export const subscribeTo = async (redis: Redis | Cluster): Promise<Pick<RedisSubscription, 'subscribe'>> => {
  const listeners = new Map<string, (message: string) => void>();
  await redis.subscribe('recourse2:pending');
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

type RedisRecordsOptions = CallRecordsTerms &
  Partial<Pick<CallRecordsOptions, 'maxResultBytes' | 'space' | 'sealing'>> & {
    readonly subscription?: Pick<RedisSubscription, 'subscribe'>;
    /** How far the time of the records is ahead of the server's. */
    readonly skewMs?: () => number;
    /** How long an update waits; left out: a busy machine is no outage. */
    readonly timeoutMs?: number;
    /** What stands before the records. */
    readonly guard?: (store: RecordStore) => RecordStore;
  };

export const createRedisRecords = (
  client: RedisClient,
  {
    subscription = DEAF,
    skewMs = () => 0,
    timeoutMs = 20_000,
    guard = (store) => store,
    limits: some,
    onReturn = () => undefined,
    ...rest
  }: RedisRecordsOptions = {},
): CallRecords => {
  const limits = { ...ROOMY_LIMITS, ...some };
  const timeouts = { short: timeoutMs, long: timeoutMs };
  const live = createRedisLiveCalls(client, limits);
  return createCallRecords({
    ...rest,
    ...({ durability: 'durable', budget: null, limits, makingPauseMs: 50 } as const),
    onReturn,
    store: guard(createRedisRecordStore({ client, cacheBytes: 10_000_000, timeouts, skewMs })),
    signals: createRedisSignals({ client, subscription }),
    live: {
      ...live,
      popDue: async (most, againMs) => {
        const due = await live.popDue(most, againMs);
        return { ...due, now: due.now + skewMs() };
      },
      putOff: (call, dueAt, afterMs) => live.putOff(call, dueAt - skewMs(), afterMs),
    },
    openSession: createRedisSessionCalls(client, limits.ofSession),
  });
};

/** Time passes for records; for the list of all calls and for what Redis expires, times in Redis are moved. */
export const createRedisCallsUnderTest = async (
  redis: Redis | Cluster,
  subscription: Pick<RedisSubscription, 'subscribe'>,
  terms: CallRecordsTerms = {},
  guard?: (store: RecordStore) => RecordStore,
): Promise<CallRecordsUnderTest> => {
  await redis.del(ALL_CALLS, ALL_CALLERS);
  let aged = 0;
  const pass = async (ms: number): Promise<void> => {
    aged += ms;
    for (const entry of await redis.zrange(ALL_CALLS, '0', '-1')) await redis.zincrby(ALL_CALLS, -ms, entry);
  };
  const expire = async (ms: number, key: string): Promise<void> => {
    if ((await redis.pttl(toCallRedisKey(key))) <= ms) await redis.del(toCallRedisKey(key));
  };
  return {
    records: createRedisRecords(toRedisClient(redis), {
      ...{ ...terms, subscription, skewMs: () => aged },
      ...(guard === undefined ? {} : { guard }),
    }),
    pass,
    lapse: () => pass(10_001),
    passLook: () => pass(15_001),
    passMinute: (key) => expire(60_000, key),
    passDay: (key) => expire(86_400_000, key),
  };
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
    fingerprint: `f${calls}`.padEnd(64, 'x'),
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
