// Tasks of a whole service: its executor, its records of pending calls, its worker.

import { setTimeout as wait } from 'node:timers/promises';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { MODERN_META, postModern } from '@recourse/test-support/mcp-clients.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const WITH_TASKS = {
  ...MODERN_META,
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
} as const;

let begun = 0;
const RENDER = defineTool({
  name: 'render',
  description: 'Renders.',
  effects: 'read',
  background: 'optional',
  maxDurationMs: 60_000,
  input: z.object({ ms: z.number() }),
  output: z.object({ pages: z.number() }),
  run: async ({ ms }, { progress, signal }) => {
    begun += 1;
    progress({ progress: 1, total: 3, message: 'page 1' });
    await wait(ms, undefined, { signal });
    return { pages: 3 };
  },
});

let printed = 0;
const PRINT = defineTool({
  name: 'print',
  description: 'Prints.',
  effects: 'write',
  background: 'optional',
  input: z.object({ n: z.number() }),
  run: ({ n }) => {
    printed += 1;
    return { n };
  },
});

const A = 'the-key-of-acme-0123456789';
const B = 'the-key-of-other-0123456789';
const ECHO = 'the-echo-key-0123456789';

const start = async () => {
  const API_KEYS = [toKeyEntry('acme', A), toKeyEntry('other', B), toKeyEntry('acme', ECHO, 'tools=echo')].join(',');
  const service = await startService({ API_KEYS }, [RENDER, PRINT]);
  onTestFinished(service.stop);
  const ask = async (method: string, params: Readonly<Record<string, unknown>>, key = A) => {
    const { taskId } = params;
    const { messages } = await postModern(
      service.url,
      method,
      { ...params, _meta: { ...WITH_TASKS, ...Object(params['_meta']) } },
      { authorization: `Bearer ${key}`, ...(typeof taskId === 'string' ? { 'mcp-name': taskId } : {}) },
    );
    const { result, error } = { result: undefined, error: undefined, ...messages[0] };
    return { result: { ...Object(result) }, error: { ...Object(error) } };
  };
  const until = (taskId: unknown, status: string) =>
    expect
      .poll(async () => (await ask('tasks/get', { taskId })).result['status'], { timeout: timeLimit(20_000) })
      .toBe(status);
  return { service, ask, until };
};

const call = (ms: number) => ({ name: 'render', arguments: { ms } });

test('a call is a task that works, says how far it is, and is completed with its result', async () => {
  const { ask, until } = await start();
  const { result: created } = await ask('tools/call', call(1500));
  expect(created).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 60_000 });
  expect(created).not.toHaveProperty('content');
  const { taskId } = created;

  await expect
    .poll(async () => (await ask('tasks/get', { taskId })).result['statusMessage'], { timeout: timeLimit(10_000) })
    .toContain('still running');
  await until(taskId, 'completed');
  expect((await ask('tasks/get', { taskId })).result).toMatchObject({
    resultType: 'complete',
    result: { resultType: 'complete', structuredContent: { pages: 3 }, isError: false },
  });
});

test('a call that is refused is answered by its result, and is no task', async () => {
  const { ask } = await start();
  const { result } = await ask('tools/call', { name: 'render', arguments: { ms: 'soon' } });
  expect(result).toMatchObject({ resultType: 'complete', isError: true });
});

test('a task that is cancelled is cut off', async () => {
  const { ask, until } = await start();
  const before = begun;
  const { taskId } = (await ask('tools/call', call(60_000))).result;
  await expect.poll(() => begun, { timeout: timeLimit(10_000) }).toBe(before + 1);
  await ask('tasks/cancel', { taskId });
  await until(taskId, 'cancelled');
});

test('a handle is of no use to another tenant, nor to a key that may not use the tool', async () => {
  const { ask } = await start();
  const { taskId } = (await ask('tools/call', call(100))).result;
  for (const key of [B, ECHO])
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect((await ask(method, { taskId }, key)).error).toMatchObject({ code: -32602 });
});

test('the same call again in a session is the same task, and the same key gives the same handle', async () => {
  const { ask } = await start();
  const inSession = { ...call(60_000), _meta: { 'recourse/session_id': 's' } };
  const first = (await ask('tools/call', inSession)).result['taskId'];
  expect((await ask('tools/call', inSession)).result['taskId']).toBe(first);
  const keyed = { ...call(50_000), _meta: { 'recourse/idempotency_key': 'k' } };
  const one = (await ask('tools/call', keyed)).result['taskId'];
  expect(one).not.toBe(first);
  expect((await ask('tools/call', keyed)).result['taskId']).toBe(one);
  // For the service to stop.
  for (const taskId of [first, one]) await ask('tasks/cancel', { taskId });
});

test('a call that is sent again with its call id when its task has ended is its result, and no second task', async () => {
  const { ask, until } = await start();
  const meta = { 'recourse/session_id': 's', 'recourse/call_id': 'call_1' };
  const print = { name: 'print', arguments: { n: 7 }, _meta: meta };
  const { taskId } = (await ask('tools/call', print)).result;
  await until(taskId, 'completed');
  const again = (await ask('tools/call', print)).result;
  expect(again).toMatchObject({ structuredContent: { n: 7 }, _meta: { 'recourse/result': { replayed: true } } });
  expect(printed).toBe(1);
});
