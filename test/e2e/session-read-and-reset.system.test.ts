import { hash } from 'node:crypto';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { SessionView } from '#src/contract/session.ts';
import { Problem } from '#src/contract/tool-result.ts';
import { defineReducer } from '#src/tools/define-reducer.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';

const start = async (
  environment: Readonly<Record<string, string>> = {},
  tools: readonly Tool[] = [],
): Promise<RunningService> => {
  const service = await startService(environment, tools);
  onTestFinished(() => service.stop());
  return service;
};

type Asked = { readonly method?: string; readonly key?: string };

const ask = (service: RunningService, path: string, { method = 'GET', key = '' }: Asked = {}): Promise<Response> =>
  fetch(`${service.url}${path}`, { method, headers: key === '' ? {} : { authorization: `Bearer ${key}` } });

const read = async (service: RunningService, id: string, asked: Asked = {}): Promise<SessionView> => {
  const answer = await ask(service, `/sessions/${encodeURIComponent(id)}`, asked);
  expect(answer.status).toBe(200);
  return SessionView.parse(await answer.json());
};

const failing = defineTool({
  name: 'failing',
  description: 'Fails.',
  effects: 'read',
  retries: 1,
  input: z.object({ n: z.number() }),
  run: ({ n }) => {
    throw new Error(`no ${n}`);
  },
});

/** Calls `failing` once, and tells what became of it. */
const fail = async (service: RunningService, session: string, n: number): Promise<string | undefined> =>
  (await service.call([{ name: 'failing', arguments: { n } }], { session_id: session }))[0]?.error?.code;

const block = async (service: RunningService, session: string): Promise<void> => {
  for (const n of [1, 2]) expect(await fail(service, session, n)).toBe('tool_exception');
  expect(await fail(service, session, 3)).toBe('retry_budget_exhausted');
};

test('a session shows which tool is blocked, and every call with what it was told (section 7)', async () => {
  const service = await start({}, [failing]);
  await block(service, 's');
  const { session, tools, calls } = await read(service, 's');
  expect(session).toMatchObject({ mode: 'memory', rounds: 3, calls: 2, retries_used: 1, retries_limit: 20 });
  expect(tools).toMatchObject([
    { name: 'failing', failing: true, failures: 2, used: 1, limit: 1, exhausted: true, last_error: 'Error: no 2' },
  ]);
  expect(calls).toMatchObject([
    { step: 1, arguments: '{"n":1}', outcome: 'retry', executed: 'yes', code: 'tool_exception', retries_left: 1 },
    { step: 2, arguments: '{"n":2}', outcome: 'retry', executed: 'yes', code: 'tool_exception', retries_left: 0 },
    { step: 3, arguments: '{"n":3}', outcome: 'refused', executed: 'no', code: 'retry_budget_exhausted' },
  ]);
});

test.for(['/budgets', '/budgets/failing'])(
  'DELETE %s gives a blocked tool its retries back, and keeps the journal',
  async (what) => {
    const service = await start({}, [failing]);
    await block(service, 's');
    const answer = await ask(service, `/sessions/s${what}`, { method: 'DELETE' });
    expect(answer.status).toBe(204);
    expect(await answer.text()).toBe('');
    const reset = await read(service, 's');
    expect(reset.session).toMatchObject({ rounds: 3, calls: 2, retries_used: 0 });
    expect(reset.tools.filter(({ exhausted, failing: fails }) => exhausted || fails)).toEqual([]);
    expect(reset.calls).toHaveLength(3);
    await block(service, 's');
  },
);

test('resetting another tool leaves the blocked one blocked', async () => {
  const service = await start({}, [failing]);
  await block(service, 's');
  expect((await ask(service, '/sessions/s/budgets/echo', { method: 'DELETE' })).status).toBe(204);
  expect(await fail(service, 's', 4)).toBe('retry_budget_exhausted');
});

test('DELETE of a session forgets it, and of one never seen is 204 as well', async () => {
  const service = await start({}, [failing]);
  await block(service, 's');
  for (const id of ['s', 's', 'nobody'])
    expect((await ask(service, `/sessions/${id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await read(service, 's')).toMatchObject({ session: { rounds: 0, calls: 0 }, tools: [], calls: [] });
  await block(service, 's');
});

test.for(['team/7', '\0', '{}', '🤖', '%2F', '日'.repeat(256)])(
  'the session %j is read as it was written',
  async (id) => {
    const service = await start({}, [failing]);
    await fail(service, id, 1);
    expect((await read(service, id)).session.rounds).toBe(1);
    expect((await read(service, `${id.slice(0, 100)}x`)).session.rounds).toBe(0);
  },
);

test('one tenant neither sees nor changes the session of another (section 2)', async () => {
  const pairs = ['acme', 'umbrella'].map((tenant) => `${tenant}=${hash('sha256', `key-of-${tenant}`)}`);
  const service = await start({ API_KEYS: pairs.join(',') }, [failing]);
  const [acme, umbrella] = ['key-of-acme', 'key-of-umbrella'];
  const body = JSON.stringify({ session_id: 's', calls: [{ name: 'failing', arguments: { n: 1 } }] });
  const headers = { 'content-type': 'application/json', 'x-api-key': acme };
  expect((await fetch(`${service.url}/tool-calls`, { method: 'POST', headers, body })).status).toBe(200);
  for (const path of ['/sessions/s/budgets', '/sessions/s/budgets/failing', '/sessions/s'])
    expect((await ask(service, path, { method: 'DELETE', key: umbrella })).status).toBe(204);
  expect(await read(service, 's', { key: umbrella })).toMatchObject({ tools: [], calls: [] });
  expect(await read(service, 's', { key: acme })).toMatchObject({ tools: [{ failing: true }], calls: [{ step: 1 }] });
  expect((await ask(service, '/sessions/s')).status).toBe(401);
});

test('what a handler comes to after its answer stands with its call (section 5)', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = defineTool({
    name: 'slow',
    description: 'Goes on.',
    effects: 'write',
    input: z.object({}),
    timeoutMs: 20,
    run: () => promise,
  });
  const service = await start({}, [slow]);
  await service.call([{ name: 'slow' }], { session_id: 's' });
  expect((await read(service, 's')).calls).toMatchObject([{ code: 'timeout', outcome: 'unknown' }]);
  expect((await read(service, 's')).calls[0]).not.toHaveProperty('late');
  resolve('done');
  const late = await vi.waitFor(async () =>
    z
      .object({})
      .loose()
      .parse((await read(service, 's')).calls[0]?.late),
  );
  expect(late).toMatchObject({ outcome: 'success', executed: 'yes', code: null });
});

test('limits that are set stand beside what was counted (limits, section 2)', async () => {
  const limited = defineTool({
    name: 'limited',
    description: 'Twice a session.',
    effects: 'read',
    input: z.object({ n: z.number() }),
    maxCallsPerSession: 2,
    run: ({ n }) => n,
  });
  const service = await start({ SESSION_MAX_CALLS: '9', SESSION_MAX_ROUNDS: '5' }, [limited]);
  const calls = [1, 2, 3].map((n) => ({ name: 'limited', arguments: { n } }));
  await service.call(calls, { session_id: 's' });
  const view = await vi.waitFor(async () => {
    const found = await read(service, 's');
    expect(found.calls).toHaveLength(3);
    return found;
  });
  expect(view.session).toMatchObject({ rounds: 1, max_rounds: 5, calls: 2, max_calls: 9 });
  expect(view.tools).toMatchObject([{ name: 'limited', calls: 2, max_calls: 2 }]);
  expect(view.calls.map(({ code }) => code)).toEqual([null, null, 'call_limit_exceeded']);
});

test('a reducer registered in code has its slice, and one that throws costs only its own', async () => {
  const steps = defineReducer<readonly number[]>({
    name: 'steps',
    initial: [],
    reduce: (all, { step }) => [...all, step],
  });
  const broken = defineReducer<number>({
    name: 'broken',
    initial: 0,
    reduce: () => {
      throw new Error('not today');
    },
  });
  const service = await start({}, [failing, steps, broken]);
  await fail(service, 's', 1);
  const { slices, slice_errors } = await read(service, 's');
  expect(slices).toMatchObject({
    steps: [1],
    failures_by_tool: { failing: { tool_exception: 1 } },
    last_success: null,
  });
  expect(slice_errors).toEqual({ broken: 'Error: not today' });
});

test('a draining service shows no sessions, and says when to come back', async () => {
  const service = await start();
  service.drain();
  const answer = await ask(service, '/sessions/s');
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(Problem.parse(await answer.json()).code).toBe('draining');
});
