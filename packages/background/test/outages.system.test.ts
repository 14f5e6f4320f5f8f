import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freshName } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { readEvents } from '@recourse/test-support/stream-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

// Processes and a Redis that keeps its data, some of which die: what was answered 202 is there, and streams end.

const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always'];
const PATIENCE = { timeout: timeLimit(60_000), interval: 50 };

const toTools = (ledger: string, go: string): string => `
  import { appendFileSync, existsSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse-server';
  const make = (name, effects, end) =>
    defineTool({
      name,
      description: 'Waits for a file.',
      effects,
      background: 'always',
      input: z.object({ only: z.string() }),
      run: async ({ only }) => {
        appendFileSync(${JSON.stringify(ledger)}, name + ' ' + only + '\\n');
        while (name !== 'crashing' && !existsSync(${JSON.stringify(go)})) await pause(10);
        return end();
      },
    });
  export const heldRead = make('held_read', 'read', () => 'read');
  export const heldWrite = make('held_write', 'write', () => 'written');
  export const crashing = make('crashing', 'write', () => process.exit(1));
`;

const start = async () => {
  const redis = await startRedisServer({ settings: PERSISTENT });
  onTestFinished(redis.stop);
  const files = makeDirectory({ ledger: '' });
  const [ledger, go] = [join(files.root, 'ledger'), join(files.root, 'go')];
  const tools = makeDirectory({ 'held.ts': toTools(ledger, go) });
  const environment = { REDIS_URL: redis.url, TOOLS_DIR: tools.root };
  const begins = (name: string): number =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith(`${name} `)).length;
  return {
    redis,
    begins,
    release: () => writeFileSync(go, ''),
    isReleased: () => existsSync(go),
    startApi: (role: 'api' | 'all' = 'api', more: Readonly<Record<string, string>> = {}) =>
      startProcess({ by: 'node', environment: { ...environment, ...more, ROLE: role } }),
    startWorker: () => startWorkerProcess({ by: 'node', environment }),
  };
};

const callsOf = (...names: readonly string[]) => names.map((name) => ({ name, arguments: { only: freshName() } }));

const codesOf = (results: readonly unknown[]): readonly string[] =>
  results.map((result) => Object(result).error?.code ?? Object(result).outcome);

/** Follows a batch: what its results came to, in the order of its calls, and its last event. `broken`: it ended without. */
const follow = async (
  url: string,
  requestId: string,
): Promise<{ readonly told: Promise<readonly string[] | 'broken'> }> => {
  const answer = await fetch(`${url}/tool-calls/${requestId}/events`);
  expect(answer.status).toBe(200);
  const read = async (): Promise<readonly string[] | 'broken'> => {
    const text = await answer.text().catch(() => null);
    if (text === null) return 'broken';
    const events = readEvents(text, 'sse').filter(({ event }) => event !== 'progress');
    // What had ended before the stream began stands in its snapshot.
    const snapshots = events.filter(({ event }) => event === 'snapshot').flatMap(({ data }) => Object(data).results);
    const ended = snapshots.filter(({ outcome }) => outcome !== 'pending');
    const told = events.filter(({ event }) => event === 'result').map(({ data }) => Object(data));
    const results = [...new Map([...ended, ...told].map((result) => [result.index, result])).values()];
    const ends = codesOf(results.toSorted((one, other) => one.index - other.index));
    return [...ends, events.at(-1)?.event ?? 'nothing'];
  };
  return { told: read() };
};

test('a stream ends with each result and done, whatever dies: handler, worker, Redis', {
  timeout: timeLimit(120_000),
}, async () => {
  const { redis, begins, release, startApi, startWorker } = await start();
  const [service, worker] = [await startApi(), await startWorker()];
  const { begin } = createPendingClient(service.url);
  const crashed = await begin({ calls: callsOf('crashing') });
  expect(await (await follow(service.url, crashed.requestId)).told).toEqual(['tool_crashed', 'done']);
  const { requestId } = await begin({ calls: callsOf('held_read', 'held_write') });
  await expect.poll(() => begins('held_read') + begins('held_write'), PATIENCE).toBe(2);
  const killed = await follow(service.url, requestId);
  worker.send('SIGKILL', 'group');
  await startWorker();
  await expect.poll(() => begins('held_read'), PATIENCE).toBe(2);
  const second = await begin({ calls: callsOf('held_write') });
  await expect.poll(() => begins('held_write'), PATIENCE).toBe(2);
  const away = await follow(service.url, second.requestId);
  await redis.kill();
  release();
  await pause(500);
  await redis.restart();
  expect(await killed.told).toEqual(['success', 'outcome_unknown', 'done']);
  expect(await away.told).toEqual(['success', 'done']);
});

test('a service that ends breaks its streams off, or ends them with done: never as if that were all', async () => {
  const { begins, startApi } = await start();
  const service = await startApi('all', { SHUTDOWN_GRACE_MS: '300', WORKER_GRACE_MS: '300' });
  const { begin, ask } = createPendingClient(service.url);
  const { requestId } = await begin({ calls: callsOf('held_read', 'held_write') });
  await expect.poll(() => begins('held_read') + begins('held_write'), PATIENCE).toBe(2);
  const stream = await follow(service.url, requestId);
  const waiting = ask(`/tool-calls/${requestId}?wait_ms=30000`).then(
    ({ status }) => [200, 202, 503].includes(status),
    () => true,
  );
  service.send('SIGTERM', 'service');
  const told = await stream.told;
  expect(told === 'broken' || told.at(-1) === 'done').toBe(true);
  expect(await waiting).toBe(true);
  expect((await service.exited).code).toBe(0);
});

const handlesOf = ({ results }: PendingAnswer): readonly string[] =>
  results.flatMap((result) => (result.outcome === 'pending' ? [result.pending.call] : []));

test('every 202 is readable at once, at another replica too, while Redis dies and comes back', {
  timeout: timeLimit(120_000),
}, async () => {
  const { redis, release, startApi, startWorker } = await start();
  const [one, other] = await Promise.all([startApi(), startApi(), startWorker()]);
  const replicas = [one, other].map(({ url }) => createPendingClient(url));
  let isOver = false;
  let restarts = 0;
  const breakRedis = async (): Promise<void> => {
    for (; restarts < 8; restarts += 1) {
      await pause(100 + 150 * (restarts % 4));
      await redis.restart();
    }
    isOver = true;
  };
  const accepted: PendingAnswer[] = [];
  const sendBatches = async (): Promise<void> => {
    const [here, there] = replicas;
    while (!isOver && here !== undefined && there !== undefined) {
      const answer = await here.begin({ calls: callsOf('held_write', 'held_read') }).catch(() => null);
      if (answer?.status !== 202) continue;
      accepted.push(answer);
      // Asked again while Redis is away.
      const found = await there.ask(`/tool-calls/${answer.requestId}`);
      expect([answer.requestId, found.status, handlesOf(found)]).toEqual([answer.requestId, 202, handlesOf(answer)]);
    }
  };
  await Promise.all([breakRedis(), sendBatches(), sendBatches(), sendBatches()]);
  expect(accepted.length).toBeGreaterThan(10);
  release();
  // Calls whose job or lease was lost wait for a sweep.
  const findOpen = async (): Promise<readonly string[]> => {
    const ends = await Promise.all(accepted.map(({ requestId }) => replicas[0]?.finish(requestId)));
    return ends.flatMap((end) => (end?.state === 'done' ? [] : [end?.requestId ?? 'none']));
  };
  await expect.poll(findOpen, PATIENCE).toEqual([]);
});
