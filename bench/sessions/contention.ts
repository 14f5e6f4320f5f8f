import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import type { Admission, RoundReport, SessionStore } from '#src/executor/session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { SETTINGS, startRedis } from './measured-redis.ts';

// Batches of one session at once on several replicas, each with a connection of its own, all in this process: how long a batch
// waits for the store (admit and settle), how often it is swapped, how many are given up. Pinned to a core:
//   taskset -c 0 node bench/sessions/contention.ts [rounds]
// REDIS_SERVER names the program of Redis.
const ROUNDS = Number(process.argv[2] ?? 40);
const PORT = 18_302;
const BATCHES = 50;
const WARM_UP = 5;
// Of the service.
const TIMEOUTS = { short: 50, long: 1000 };
const FAR_MS = 2;

let swaps = 0;
let conflicts = 0;
let made = 0;

/** A replica whose commands and answers take so much longer, in milliseconds. */
const openReplica = async (distanceMs: number): Promise<SessionStore> => {
  const client = createRedisClient(`redis://127.0.0.1:${PORT}`, 1000);
  client.onError(() => undefined);
  const ready = Promise.withResolvers<void>();
  client.onReady(ready.resolve);
  client.connect();
  await ready.promise;
  const send: typeof client.send = async (...words) => {
    // EVALSHA, its digest, the number of keys: two a record.
    if (words[0] === 'EVALSHA') swaps += Number(words[2]) / 2;
    if (distanceMs === 0) return client.send(...words);
    await sleep(distanceMs / 2);
    const answer = await client.send(...words);
    await sleep(distanceMs / 2);
    return answer;
  };
  const store = createRedisRecordStore({
    client: { ...client, send },
    cacheBytes: 100_000_000,
    timeouts: TIMEOUTS,
    onConflict: () => {
      conflicts += 1;
    },
  });
  closers.push(client.disconnect);
  return createRecordSessionStore({ mode: 'redis', settings: SETTINGS, store, unpackRound: () => [] });
};

const closers: (() => void)[] = [];

const tools = [{ name: 'echo', retries: 3, maxCalls: null, effects: 'read', polling: false }] as const;

const report: RoundReport = {
  outcomes: [{ name: 'echo', failed: false, succeeded: true, interrupted: false, error: '' }],
  calls: [{ tool: 'echo', counts: true, callHash: 1, callEnd: 'answered', resultHash: 2, executed: true }],
  journal: {
    lines: 1,
    refused: 0,
    render: () => [{ tool: 'echo', json: '{"a":1}' }],
    pack: () => JSON.stringify([3, Date.now(), 'b', [[0, 'c', 'echo', null, { text: 'x'.repeat(99) }, 0.01]]]),
  },
};

/** Milliseconds that one batch waits for the store; null: it was given up. */
const runBatch = async (store: SessionStore, sessionKey: string): Promise<number | null> => {
  made += 1;
  const startedAt = performance.now();
  const terms = { sessionKey, batchId: `b${made}`, roundId: null, leaseMs: 305_000 };
  const calls = [{ tool: 'echo', counts: true, callHash: made }];
  try {
    const admission: Admission = await store.admit({ ...terms, tools, calls });
    await admission.settle(report);
    return performance.now() - startedAt;
  } catch (_givenUp) {
    return null;
  }
};

const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1).padStart(7);

const describe = (name: string, waits: readonly (number | null)[]): void => {
  const answered = waits.filter((wait) => wait !== null).toSorted((one, other) => one - other);
  const lost = waits.length - answered.length;
  const each = (count: number): string => (count / made).toFixed(2);
  process.stdout.write(
    `${name.padEnd(44)} p50 ${percentile(answered, 0.5)} ms  p99 ${percentile(answered, 0.99)} ms  swaps ${each(swaps)} conflicts ${each(conflicts)} a batch  given up ${lost} of ${waits.length}\n`,
  );
};

const crowd = async (replicas: number): Promise<void> => {
  const stores = await Promise.all(Array.from({ length: replicas }, () => openReplica(0)));
  const waits: (number | null)[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    if (round === 0) [swaps, conflicts, made] = [0, 0, 0];
    const sessionKey = `crowd:${replicas}-${round}`;
    const batches = Array.from({ length: BATCHES }, (_, at) => stores[at % replicas]);
    const waited = await Promise.all(batches.map((store) => (store ? runBatch(store, sessionKey) : null)));
    if (round >= 0) waits.push(...waited);
    const [record] = await Promise.all(stores.map((store) => store.read(sessionKey)));
    if (record?.rounds !== BATCHES) process.stdout.write(`NOT EXACT: ${record?.rounds} rounds of ${BATCHES}\n`);
  }
  describe(`${BATCHES} at once on ${replicas} replicas`, waits);
};

/** A replica that is far away, beside a near one that never pauses. */
const farBeside = async (): Promise<void> => {
  const [near, far] = await Promise.all([openReplica(0), openReplica(FAR_MS)]);
  let isOver = false;
  const nearLoop = async (): Promise<number> => {
    let batches = 0;
    for (; !isOver; batches += 1) await runBatch(near, 'far:1');
    return batches;
  };
  const lanes = Array.from({ length: 8 }, () => nearLoop());
  const waits: (number | null)[] = [];
  [swaps, conflicts, made] = [0, 0, 0];
  for (let at = 0; at < BATCHES * 4; at += 1) waits.push(await runBatch(far, 'far:1'));
  isOver = true;
  const nearBatches = (await Promise.all(lanes)).reduce((sum, batches) => sum + batches, 0);
  describe(`one ${FAR_MS} ms away beside 8 lanes (${nearBatches} batches)`, waits);
};

const redis = startRedis(PORT);
await sleep(300);
for (const replicas of [1, 2, 8]) await crowd(replicas);
await farBeside();
for (const close of closers) close();
redis.kill();
