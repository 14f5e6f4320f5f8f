import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { toKeyEntry } from '@recourse/test-support/sealing.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ToolCallsResponse, type ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { expect, onTestFinished, test } from 'vitest';

// Writes in each step, each sent to both replicas at once.
const WRITES = Number(process.env['RUNS'] ?? 40);
const AT_ONCE = 8;

const toKeys = (...ids: readonly string[]) => ({ STORE_KEYS: ids.map(toKeyEntry).join(',') });

/** What the replicas of one roll-out after the other are started with: the first roll-out, then a rotation. */
const ROLL_OUTS = [
  {},
  { ...toKeys('k1'), STORE_SEALED: 'optional' },
  toKeys('k1'),
  toKeys('k1', 'k2'),
  toKeys('k2', 'k1'),
  toKeys('k2'),
] as const;

/** A tool that writes a line each time it runs, and takes some milliseconds after that. */
const toTool = (ledger: string): string => `
  import { appendFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse-server';
  export const writeLine = defineTool({
    name: 'write_line',
    description: 'Writes into a ledger.',
    effects: 'write',
    background: 'optional',
    input: z.object({ line: z.string() }),
    run: async ({ line }) => {
      appendFileSync(${JSON.stringify(ledger)}, line + '\\n');
      await pause(5);
      return line;
    },
  });
`;

// At the start of a service without keys.
const UNSEALED =
  'STORE_KEYS is not set: whoever writes to Redis runs tools as any tenant, and whoever reads it reads the arguments of pending calls';

const startLab = async () => {
  const server = await startRedisServer();
  const redis = await connectToRedis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  const ledger = join(makeDirectory({ ledger: '' }).root, 'ledger');
  const tools = makeDirectory({ 'tools.ts': toTool(ledger) });
  const start = (keys: Readonly<Record<string, string>>): Promise<RunningProcess> =>
    startProcess({
      by: 'node',
      environment: { REDIS_URL: server.url, TOOLS_DIR: tools.root, TOOL_HOSTS_MIN: '1', ...keys },
    });
  const lines = (): readonly string[] => readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
  return { redis, start, lines };
};

type Write = { readonly line: string; readonly isAsync: boolean };

/** Sends a write, or asks for its result; null where it is to be asked again: a replica ends, its store is late, or another has it. */
const ask = async (url: string, path: string, init: RequestInit = {}): Promise<ToolResult | null> => {
  const answer = await fetch(`${url}${path}`, init).catch(() => null);
  if (answer === null || [409, 503].includes(answer.status)) {
    await answer?.body?.cancel();
    await sleep(100);
    return null;
  }
  const body: unknown = await answer.json();
  expect([answer.status, body]).toEqual([expect.toBeOneOf([200, 202]), expect.anything()]);
  const [result] = ToolCallsResponse.parse(body).results;
  if (result === undefined || result.error?.code === 'store_unavailable' || result.error?.code === 'shutting_down')
    return null;
  return result;
};

const post = ({ line, isAsync }: Write): RequestInit => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'idempotency-key': `key of ${line}`,
    'x-request-id': `request-${line}-${Math.random().toString(36).slice(2)}`,
    ...(isAsync ? { prefer: 'respond-async, wait=0' } : {}),
  },
  body: JSON.stringify({ calls: [{ id: 'c', name: 'write_line', arguments: { line } }] }),
});

/** Sends it to one replica after the other until it has ended. */
const writeThrough = async (urls: () => readonly string[], write: Write): Promise<ToolResult> => {
  for (let tries = 0; ; tries += 1) {
    const known = urls();
    const result = await ask(known[tries % known.length] ?? '', '/tool-calls', post(write));
    if (result !== null && result.outcome !== 'pending') return result;
    await sleep(20);
  }
};

test('while keys of the store are rolled out and replaced, old and new replicas beside each other run each write once and know how it ended', {
  timeout: timeLimit(240_000),
}, async () => {
  const lab = await startLab();
  let old = await lab.start(ROLL_OUTS[0]);
  const sent: string[] = [];
  for (const [step, keys] of ROLL_OUTS.slice(1).entries()) {
    const newer = await lab.start(keys);
    const ending = old;
    let urls = [old.url, newer.url];
    const results: ToolResult[] = [];
    const names = Array.from({ length: WRITES }, (_, place) => `${step}-${place}`);
    sent.push(...names);
    const writeSome = async (): Promise<void> => {
      for (let line = names.shift(); line !== undefined; line = names.shift()) {
        // In the middle of it the old replica ends.
        if (names.length === Math.floor(WRITES / 3)) {
          ending.send('SIGTERM', 'service');
          urls = [newer.url];
        }
        const write = { line, isAsync: names.length % 2 === 0 };
        const both = [() => urls, () => urls.toReversed()].map((order) => writeThrough(order, write));
        results.push(...(await Promise.all(both)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, writeSome));
    expect(results.filter(({ outcome }) => outcome !== 'success')).toEqual([]);
    expect(results).toHaveLength(2 * WRITES);
    expect((await ending.exited).code).toBe(0);
    old = newer;
  }
  expect(lab.lines().toSorted()).toEqual(sent.toSorted());
});

test('what something else has written into Redis is not run, is told as cancelled, and stands in log and metrics without a secret', {
  timeout: timeLimit(60_000),
}, async () => {
  const lab = await startLab();
  const keys = toKeys('k1');
  const api = await lab.start({ ...keys, ROLE: 'api' });
  const headers = { 'content-type': 'application/json', prefer: 'respond-async, wait=0' };
  const body = JSON.stringify({ calls: [{ id: 'c', name: 'write_line', arguments: { line: 'PIN-4711' } }] });
  const accepted = await fetch(`${api.url}/tool-calls`, { method: 'POST', headers, body });
  expect([accepted.status, await accepted.text()]).toEqual([202, expect.any(String)]);
  const requestId = accepted.headers.get('x-request-id');
  const [key = ''] = await lab.redis.keys('recourse2:*:call');
  const stored = JSON.stringify(await lab.redis.hgetall(key));
  expect(stored).not.toContain('PIN-4711');
  await lab.redis.hset(key, { s: '{"tool":"write_line"}', a: '{"line":"forged"}', v: 'another writer' });
  const worker = await lab.start(keys);
  const result = await ask(worker.url, `/tool-calls/${requestId}?wait_ms=20000`);
  expect(result).toMatchObject({ executed: 'no', id: 'c', name: 'write_line', error: { code: 'cancelled' } });
  expect(lab.lines()).toEqual([]);
  const metrics = await Promise.all([api, worker].map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
  expect(metrics.join('')).toMatch(/recourse_session_store_unopened_total\{problem="(?:not_sealed|damaged)"\} [1-9]/);
  const secret = toKeyEntry('k1').slice(3);
  for (const process of [api, worker]) expect(process.logLines().map(({ msg }) => msg)).not.toContain(UNSEALED);
  for (const process of [api, worker]) {
    expect(JSON.stringify(process.logLines()) + process.stderr()).not.toContain(secret);
    expect(await (await fetch(`${process.url}/ready`)).text()).not.toContain(secret);
  }
});

test('a damaged end of a call is told as unknown, not as a store that is away', {
  timeout: timeLimit(60_000),
}, async () => {
  const lab = await startLab();
  const service = await lab.start({});
  expect(await service.logged(UNSEALED)).toMatchObject({ level: 40 });
  const headers = { 'content-type': 'application/json', prefer: 'respond-async, wait=0' };
  const body = JSON.stringify({ calls: [{ id: 'c', name: 'write_line', arguments: { line: 'once' } }] });
  const accepted = await fetch(`${service.url}/tool-calls`, { method: 'POST', headers, body });
  const path = `/tool-calls/${accepted.headers.get('x-request-id')}?wait_ms=20000`;
  expect(await ask(service.url, path)).toMatchObject({ outcome: 'success' });
  const [key = ''] = await lab.redis.keys('recourse2:*:call');
  for (const damaged of ['{"broken', '{}', '[]', 'null', '"text"']) {
    await lab.redis.hset(key, { r: damaged, v: `another writer ${damaged}` });
    expect(await ask(service.url, path)).toMatchObject({
      id: 'c',
      name: 'write_line',
      error: { code: 'outcome_unknown' },
    });
  }
  expect(lab.lines()).toEqual(['once']);
});
