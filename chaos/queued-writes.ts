import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findFreePort, startRedisServer } from '@recourse/test-support/redis-server.ts';
import * as z from 'zod';
import { createRandom } from './random.ts';
import { createReplica, type Replica } from './replica.ts';

// Queued writes while their workers are killed at random and Redis restarts once: what was begun twice, was lost, or has no end.
//
//     npm run chaos:writes -- [--calls 300] [--seconds 20] [--workers 3] [--concurrency 4] [--longest 1200] [--seed N]
//
// --concurrency: of each worker. --longest: how long a write may take, in milliseconds.

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '20' },
    workers: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '4' },
    longest: { type: 'string', default: '1200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const toNumber = (text: string): number => z.coerce.number().int().positive().parse(text);
const [calls, seconds, workerCount] = [toNumber(values.calls), toNumber(values.seconds), toNumber(values.workers)];
const [seed, longestMs] = [toNumber(values.seed), toNumber(values.longest)];

const ROOT = join(import.meta.dirname, '..');
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
const BATCH = 5;
// All leases of dead workers lapse within 10 s, and a sweep finds what has no job within 20 s.
const SETTLE_MS = 90_000;
const TOOL = `
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { defineTool, z } from 'recourse-server';
export const queuedWrite = defineTool({
  name: 'queued_write',
  description: 'Writes into a ledger.',
  effects: 'write',
  background: 'always',
  input: z.object({ id: z.string(), ms: z.number() }),
  run: async ({ id, ms }) => {
    appendFileSync(process.env['CHAOS_LEDGER'] ?? '', id + '\\n');
    await pause(ms);
    return id;
  },
});
`;

const Result = z.object({
  id: z.string(),
  outcome: z.string(),
  executed: z.string(),
  message: z.string(),
  error: z.object({ code: z.string() }).nullable(),
  warnings: z.array(z.object({ code: z.string() })).default([]),
});
const Body = z.object({ results: z.array(Result) });
type Result = z.infer<typeof Result>;

const random = createRandom(seed);
const directory = mkdtempSync(join(tmpdir(), 'recourse-queued-'));
const ledger = join(directory, 'ledger.txt');
writeFileSync(ledger, '');
mkdirSync(join(directory, 'tools'));
writeFileSync(join(directory, 'tools', 'queued.ts'), TOOL);
const redis = await startRedisServer({ settings: PERSISTENT });
const environment = {
  PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter),
  REDIS_URL: redis.url,
  TOOLS_DIR: join(directory, 'tools'),
  TOOLS_ENV: 'CHAOS_LEDGER',
  CHAOS_LEDGER: ledger,
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/recourse/compiled'),
  WORKER_CONCURRENCY: String(toNumber(values.concurrency)),
  MAX_EVENT_LOOP_LAG_MS: '60000',
};

const say = (line: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

const make = async (name: string, role: 'api' | 'worker'): Promise<Replica> =>
  createReplica(
    { name, port: await findFreePort(), environment: { ...environment, ROLE: role }, logFile: join(directory, name) },
    ({ told, code, signal }) => {
      if (!told) say(`${name} ended by itself with ${code ?? signal}`);
    },
  );

/** The answer of the service, or null where it has none now. */
const ask = async (
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; body: unknown; id: string } | null> => {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(35_000) });
    const body: unknown = await answer.json();
    return { status: answer.status, body, id: answer.headers.get('x-request-id') ?? '' };
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
};

/** Sends a batch under its key until it is accepted as a whole; gives the request that was. */
const accept = async (api: Replica, ids: readonly string[]): Promise<string> => {
  const body = JSON.stringify({
    calls: ids.map((id) => ({ id, name: 'queued_write', arguments: { id, ms: random.whole(20, longestMs) } })),
  });
  const headers = { 'content-type': 'application/json', prefer: 'respond-async', 'idempotency-key': `batch ${ids[0]}` };
  for (;;) {
    const answer = await ask(`${api.url}/tool-calls`, { method: 'POST', headers, body });
    const results = Body.safeParse(answer?.body).data?.results;
    const isWhole = results?.every(
      ({ error, warnings }) => error?.code !== 'store_unavailable' && warnings.length === 0,
    );
    if (answer !== null && answer.status < 300 && isWhole) return answer.id;
    await pause(200);
  }
};

const settle = async (api: Replica, requestId: string, until: number): Promise<readonly Result[]> => {
  for (;;) {
    const answer = await ask(`${api.url}/tool-calls/${requestId}?wait_ms=5000`);
    const results = Body.safeParse(answer?.body).data?.results ?? [];
    const isOver = answer?.status === 404 || (answer?.status === 200 && results.length > 0);
    if (isOver || performance.now() > until) return results;
    await pause(100);
  }
};

const api = await make('api', 'api');
const workers = await Promise.all(Array.from({ length: workerCount }, (_, place) => make(`worker-${place}`, 'worker')));
await Promise.all([api, ...workers].map((process) => process.start()));
say(`started; seed ${seed}`);
const endsAt = performance.now() + seconds * 1000;
let kills = 0;

const killAtRandom = async (): Promise<void> => {
  while (performance.now() < endsAt) {
    await pause(random.whole(300, 1500));
    const victim = random.pick(workers);
    await victim.kill();
    kills += 1;
    await victim.start();
  }
};
const restartRedis = async (): Promise<void> => {
  await pause((seconds * 1000) / 2);
  await redis.restart();
  say('Redis has restarted');
};
const ids = Array.from({ length: calls }, (_, index) => `w${index}`);
const sendAll = async (): Promise<readonly string[]> => {
  const requests: string[] = [];
  for (let at = 0; at < ids.length; at += BATCH) {
    requests.push(await accept(api, ids.slice(at, at + BATCH)));
    await pause((seconds * 700) / (ids.length / BATCH));
  }
  return requests;
};
const [requests] = await Promise.all([sendAll(), killAtRandom(), restartRedis()]);
say(`${requests.length} batches accepted, ${kills} workers killed`);
const until = performance.now() + SETTLE_MS;
const results = (await Promise.all(requests.map((request) => settle(api, request, until)))).flat();

const begun = Map.groupBy(readFileSync(ledger, 'utf8').split('\n').filter(Boolean), (id) => id);
const timesOf = (id: string): number => begun.get(id)?.length ?? 0;
const byEnd = Map.groupBy(results, ({ outcome, executed, error }) => `${error?.code ?? outcome}/${executed}`);
const rows = {
  calls: ids.length,
  'workers killed': kills,
  ends: Object.fromEntries([...byEnd].map(([end, all]) => [end, all.length])),
  doubled: ids.filter((id) => timesOf(id) > 1).length,
  lost: ids.length - results.filter(({ message }) => !message.startsWith('The record of this call no longer')).length,
  'without an end': results.filter(({ outcome }) => outcome === 'pending').length,
  'success, not begun': results.filter(({ id, outcome }) => outcome === 'success' && timesOf(id) === 0).length,
  'executed no, but begun': results.filter(({ id, executed }) => executed === 'no' && timesOf(id) > 0).length,
  'unknown, not begun': results.filter(({ id, outcome }) => outcome === 'unknown' && timesOf(id) === 0).length,
};
process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
await Promise.all([api, ...workers].map((process) => process.stop('process')));
await redis.stop();
const isKept = rows.doubled + rows.lost + rows['without an end'] + rows['success, not begun'] === 0;
if (isKept && rows['executed no, but begun'] === 0) rmSync(directory, { recursive: true, force: true });
else {
  say(`BROKEN; logs and ledger stay in ${directory}`);
  process.exitCode = 1;
}
