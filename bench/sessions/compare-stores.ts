import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { createRedisClient, type RedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import type { Round, RoundReport, SessionStore } from '#src/executor/session-store.ts';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import { SETTINGS, startRedis } from './measured-redis.ts';

// Sessions in memory, in SQLite and in Redis: processor time of Redis and of this process, microseconds a batch (admit and
// settle), in slices that alternate. Pinned to a core:
//   taskset -c 0 node bench/sessions/compare-stores.ts [slices [ms of a slice [way [shape]]]]
// REDIS_SERVER names the program of Redis, `way` and `shape` are parts of names of the rows and tables that are wanted.
const [SLICES = 12, SLICE_MS = 200] = process.argv.slice(2, 4).map(Number);
const [WAY = '', SHAPE = ''] = process.argv.slice(4);
const PORT = 18_301;

const unpackRound = () => [];
const now = (): number => performance.now();

let made = 0;
const print = (): number => Math.floor(Math.random() * 2 ** 53);
const toRound = (sessionKey: string, calls: number, tool: string): Round => {
  made += 1;
  return {
    sessionKey,
    batchId: `b${process.pid}-${made}`,
    roundId: null,
    leaseMs: 305_000,
    tools: [{ name: tool, retries: 3, maxCalls: null, effects: 'read', polling: false }],
    calls: Array.from({ length: calls }, () => ({ tool, counts: true, callHash: print() })),
  };
};

const toPacked = (calls: number): string => {
  const text = 'x'.repeat(99);
  return JSON.stringify([
    3,
    Date.now(),
    '01KAJ4V2E8N5D0W3Q7Z9X6C1BT',
    Array.from({ length: calls }, (_, at) => [at, `call_${at}`, 'echo', null, { text }, 0.01]),
  ]);
};

/** `packed` was made before: what the executor does is not measured here. */
const toReport = ({ tools, calls }: Round, failed: boolean, packed: string): RoundReport => ({
  outcomes: tools.map(({ name }) => ({
    name,
    failed,
    succeeded: !failed,
    interrupted: false,
    error: failed ? "Argument 'text' is missing." : '',
  })),
  calls: calls.map((call) => ({
    ...call,
    callEnd: failed ? 'failed' : 'answered',
    resultHash: failed || call.callHash === null ? null : call.callHash + 1,
    executed: true,
  })),
  journal: {
    lines: calls.length,
    refused: 0,
    render: () => calls.map(({ tool }) => ({ tool, json: '{"a":1}' })),
    pack: () => packed,
  },
});

/** Microseconds of processor time of all threads of a process. */
const usedBy = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1000,
    0,
  );

let commands = 0;
const connect = async (): Promise<RedisClient> => {
  const client = createRedisClient(`redis://127.0.0.1:${PORT}`, 1000);
  client.onError(() => undefined);
  const ready = Promise.withResolvers<void>();
  client.onReady(ready.resolve);
  client.connect();
  await ready.promise;
  const counted =
    (ask: RedisClient['call']): RedisClient['call'] =>
    (...words) => {
      commands += 1;
      return ask(...words);
    };
  return { ...client, call: counted(client.call), send: counted(client.send) };
};

const redis = startRedis(PORT);
const folder = await mkdtemp(join(tmpdir(), 'recourse-compare-'));
const clients = await Promise.all([connect(), connect(), connect()]);
const roomy = () => createStoreMemory({ totalBytes: 300_000_000 });
const onRecords = (mode: 'memory' | 'redis', store: RecordStore): SessionStore =>
  createRecordSessionStore({ mode, settings: SETTINGS, unpackRound, store });
const swaps = (client: RedisClient): SessionStore =>
  onRecords(
    'redis',
    createRedisRecordStore({ client, cacheBytes: 200_000_000, timeouts: { short: 1000, long: 2000 } }),
  );
const sqlite = (durable: 'process' | 'power'): SessionStore => {
  const onFailed = (error: unknown): void => void process.stderr.write(`${error}\n`);
  const path = join(folder, `${print()}.db`);
  return onRecords(
    'memory',
    new SqliteRecordStore({ path, durable, cacheBytes: 200_000_000, now: Date.now, onFailed }),
  );
};

// Made for each shape anew: those with three stores are three replicas that take the rounds of a session in turn.
const WAYS: Readonly<Record<string, () => readonly SessionStore[]>> = {
  'nothing but rounds': () => [],
  memory: () => [onRecords('memory', createMemoryRecordStore({ memory: roomy(), now }))],
  'sqlite, process': () => [sqlite('process')],
  'sqlite, power': () => [sqlite('power')],
  'Redis, 1 replica': () => clients.slice(0, 1).map(swaps),
  'Redis, 3 in turn': () => clients.map(swaps),
};

type Shape = {
  readonly title: string;
  readonly calls: number;
  readonly tools: number;
  readonly fails: boolean;
  readonly lanes: number;
};
const SHAPES: readonly Shape[] = [
  { title: '1 call', calls: 1, tools: 1, fails: false, lanes: 32 },
  { title: '32 calls', calls: 32, tools: 1, fails: false, lanes: 32 },
  { title: '16 calls, 20 tools', calls: 16, tools: 20, fails: false, lanes: 32 },
  { title: '1 call, each second round fails', calls: 1, tools: 1, fails: true, lanes: 32 },
  { title: '1 call, one after the other', calls: 1, tools: 1, fails: false, lanes: 1 },
];

type Row = {
  readonly name: string;
  readonly stores: readonly SessionStore[];
  readonly rounds: Map<string, number>;
  readonly figures: Slice[];
};
type Slice = { readonly redis: number; readonly own: number; readonly commands: number };

const nextRound = (
  { name, rounds }: Row,
  shape: Shape,
  session: string,
): { readonly count: number; readonly round: Round } => {
  const key = `${name}:${session}`;
  const count = (rounds.get(key) ?? 0) + 1;
  rounds.set(key, count);
  return { count, round: toRound(key, shape.calls, shape.tools === 1 ? 'echo' : `tool_${count % shape.tools}`) };
};

/** One slice: batches for a while, in as many lanes as the shape has, each with eight sessions. */
const runSlice = async (row: Row, shape: Shape, packed: string): Promise<Slice> => {
  const until = now() + SLICE_MS;
  let batches = 0;
  const work = async (lane: number): Promise<void> => {
    for (let at = 0; now() < until; at += 1) {
      const { count, round } = nextRound(row, shape, `${lane}-${at % 8}`);
      const report = toReport(round, shape.fails && count % 2 === 0, packed);
      const admission = await row.stores[count % row.stores.length]?.admit(round);
      await admission?.settle(report);
      batches += 1;
      // As often as requests would come in: what answers at once would keep the loop for the whole slice.
      if (shape.lanes === 1 || batches % 64 === 0) await turn();
    }
  };
  const before = { redis: usedBy(redis.pid ?? 0), commands, own: process.cpuUsage() };
  await Promise.all(Array.from({ length: shape.lanes }, (_, lane) => work(lane)));
  const { user, system } = process.cpuUsage(before.own);
  return {
    redis: (usedBy(redis.pid ?? 0) - before.redis) / batches,
    own: (user + system) / batches,
    commands: (commands - before.commands) / batches,
  };
};

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

const compare = async (shape: Shape): Promise<void> => {
  const wanted = Object.entries(WAYS).filter(([name], at) => at === 0 || name.includes(WAY));
  const rows: readonly Row[] = wanted.map(([name, open]) => ({ name, stores: open(), rounds: new Map(), figures: [] }));
  const packed = toPacked(shape.calls);
  // The first two warm up.
  for (let at = -2; at < SLICES; at += 1)
    for (const row of rows) {
      const slice = await runSlice(row, shape, packed);
      if (at >= 0) row.figures.push(slice);
    }
  const base = median(rows[0]?.figures.map(({ own }) => own) ?? []);
  process.stdout.write(
    `\n${shape.title}: µs of Redis | of this process, without ${base.toFixed(1)} for rounds | commands\n`,
  );
  for (const { name, figures } of rows) {
    const [ofRedis, own, sent] = (['redis', 'own', 'commands'] as const).map((of) =>
      median(figures.map((one) => one[of])),
    );
    process.stdout.write(
      `${name.padEnd(20)} ${ofRedis?.toFixed(1).padStart(7)} ${((own ?? 0) - base).toFixed(1).padStart(7)} ${sent?.toFixed(2)}\n`,
    );
  }
};

for (const shape of SHAPES.filter(({ title }) => title.includes(SHAPE))) await compare(shape);
for (const client of clients) client.disconnect();
redis.kill();
await rm(folder, { recursive: true });
