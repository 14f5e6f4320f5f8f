import { MODERN_META, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { ANYONE, startRoute } from './start-route.ts';
import { createTaskDesk } from './task-desk.ts';

const WITH_TASKS = {
  _meta: {
    ...MODERN_META,
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  },
} as const;

const CLIENT = { name: 'c', version: '1', icons: [{ src: 'https://example.com/icon.png' }] } as const;

const start = async () => {
  const desk = createTaskDesk();
  const route = await startRoute({
    ...desk,
    toCaller: (credential) => {
      const [tenant = 'a', tools = '*'] = (credential ?? 'a').split('.');
      return tools === '*'
        ? { ...ANYONE, tenant }
        : { ...ANYONE, tenant, tools: 'some', mayUse: (tool) => tool === tools };
    },
  });
  return { ...route, desk };
};

type Params = Readonly<Record<string, unknown>>;

/** Asks with the extension declared, and gives the one message of the answer. */
const ask = async (url: string, method: string, params: Params, key = 'a') => {
  const { taskId } = params;
  const { status, messages } = await postModern(
    url,
    method,
    { ...params, ...WITH_TASKS },
    { authorization: `Bearer ${key}`, ...(typeof taskId === 'string' ? { 'mcp-name': taskId } : {}) },
  );
  const { result, error } = { result: undefined, error: undefined, ...messages[0] };
  return { status, result: { ...Object(result) }, error: { ...Object(error) } };
};

const SLOW = { name: 'slow_compute', arguments: { seconds: 60 } } as const;

const begin = async (url: string, call: Params = SLOW): Promise<string> => {
  const { result } = await ask(url, 'tools/call', call);
  expect(result['resultType']).toBe('task');
  return String(result['taskId']);
};

const TASK = {
  taskId: expect.stringMatching(/^c_[\w-]{22}$/),
  status: 'working',
  statusMessage: "Tool 'slow_compute' is still running.",
  createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
  lastUpdatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
  ttlMs: 3_600_000,
  pollIntervalMs: 100,
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'recourse', version: '1' } },
};

test('a call of a background tool by a client that knows tasks is answered by a handle, and by nothing else', async () => {
  const { url, desk } = await start();
  expect((await ask(url, 'tools/call', SLOW)).result).toEqual({ resultType: 'task', ...TASK });
  // It goes on without its client, and stands under its request id.
  expect(desk.batches).toMatchObject([{ async: { waitMs: 0, notify: null }, idempotency: { requestKey: 'a:req-1' } }]);
  expect(desk.batches[0]?.client.isGone()).toBe(false);
});

test.each([
  ['a token for progress', { _meta: { ...WITH_TASKS._meta, progressToken: 1 } }],
  ['a level of the log', { _meta: { ...WITH_TASKS._meta, 'io.modelcontextprotocol/logLevel': 'info' } }],
  [
    'a client that says more of itself',
    { _meta: { ...WITH_TASKS._meta, 'io.modelcontextprotocol/clientInfo': CLIENT } },
  ],
  ['the task parameter of an earlier revision', { task: { ttl: 60_000 } }],
])('%s changes nothing about that', async (_what, params) => {
  const { url } = await start();
  const { messages } = await postModern(url, 'tools/call', { ...SLOW, ...WITH_TASKS, ...params });
  expect(messages).toMatchObject([{ result: { resultType: 'task', status: 'working' } }]);
  expect(JSON.stringify(messages)).not.toContain('content');
  const greet = { name: 'greet', arguments: { name: 'A' }, ...WITH_TASKS, ...params };
  const answer = await postModern(url, 'tools/call', greet);
  expect(answer.messages.at(-1)).toMatchObject({
    result: { resultType: 'complete', content: [{ text: 'Hello, A!' }], isError: false },
  });
});

test('a client that does not declare tasks gets the result, and none of a tool that only runs as a task', async () => {
  const { url, desk } = await start();
  const call = { name: 'slow_compute', arguments: { seconds: 0 } };
  expect((await postModern(url, 'tools/call', call)).messages).toMatchObject([
    { result: { resultType: 'complete', content: [{ text: 'Computed for 0 s.' }] } },
  ]);
  expect(await postModern(url, 'tools/call', { name: 'failing_job', arguments: {} })).toMatchObject({
    status: 400,
    messages: [
      {
        id: 1,
        error: {
          code: -32021,
          data: {
            code: 'missing_capability',
            requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
          },
        },
      },
    ],
  });
  expect(desk.batches).toHaveLength(1);
});

test('earlier revisions know no tasks: their calls wait for the result, and their methods are unknown', async () => {
  const { url } = await start();
  const params = { ...WITH_TASKS, name: 'slow_compute', arguments: { seconds: 0 }, task: { ttl: 1 } };
  const called = await post(
    url,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: {} } },
    { 'mcp-protocol-version': '2025-11-25' },
  );
  expect(called.messages).toMatchObject([{ result: { content: [{ text: 'Computed for 0 s.' }] } }]);
  for (const method of ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel']) {
    const { messages } = await post(url, { jsonrpc: '2.0', id: 1, method, params: { taskId: 'c' } });
    expect(messages).toMatchObject([{ id: 1, error: { code: -32601 } }]);
  }
});

test('server/discover declares the extension, and a service without pending calls does not', async () => {
  const { url } = await start();
  const declared = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  expect((await postModern(url, 'server/discover')).messages).toMatchObject([{ result: { capabilities: declared } }]);
  const without = await startRoute({});
  const [message] = (await postModern(without.url, 'server/discover')).messages;
  expect(JSON.stringify(message)).not.toContain('extensions');
  expect(await ask(without.url, 'tasks/get', { taskId: 'c' })).toMatchObject({ status: 404, error: { code: -32601 } });
});

test('a task is working, then completed with its result, which may be an error', async () => {
  const { url } = await start();
  const slow = await begin(url);
  expect((await ask(url, 'tasks/get', { taskId: slow })).result).toEqual({
    resultType: 'complete',
    ...TASK,
    taskId: slow,
  });

  const failing = await begin(url, { name: 'failing_job', arguments: {} });
  const status = async (): Promise<unknown> => (await ask(url, 'tasks/get', { taskId: failing })).result['status'];
  await expect.poll(status, { timeout: timeLimit(10_000), interval: 20 }).toBe('completed');
  const { result } = await ask(url, 'tasks/get', { taskId: failing });
  expect(result).toMatchObject({
    resultType: 'complete',
    taskId: failing,
    result: {
      resultType: 'complete',
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('The job failed.') }],
    },
  });
  expect(result).not.toHaveProperty('error');
  expect(result).not.toHaveProperty('statusMessage');
});

test('tasks/cancel is acknowledged by an empty result, each time; the task is cancelled, and has none', async () => {
  const { url } = await start();
  const taskId = await begin(url);
  const meta = { _meta: TASK._meta };
  expect((await ask(url, 'tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete', ...meta });
  const status = async (): Promise<unknown> => (await ask(url, 'tasks/get', { taskId })).result['status'];
  await expect.poll(status, { timeout: timeLimit(10_000), interval: 20 }).toBe('cancelled');
  const { result } = await ask(url, 'tasks/get', { taskId });
  expect(result).toMatchObject({ statusMessage: "'slow_compute' was cancelled." });
  expect(result).not.toHaveProperty('result');
  expect((await ask(url, 'tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete', ...meta });
});

test('tasks/update has nothing to take: it is acknowledged', async () => {
  const { url } = await start();
  const taskId = await begin(url);
  const { result } = await ask(url, 'tasks/update', { taskId, inputResponses: { unknown: { action: 'accept' } } });
  expect(result).toEqual({ resultType: 'complete', _meta: TASK._meta });
});

test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
  '%s: a handle of another tenant, one of a tool that the key may not use, and none are told alike',
  async (method) => {
    const { url, desk } = await start();
    const taskId = await begin(url);
    const unknown = 'c_0123456789012345678901';
    const answers = [
      await ask(url, method, { taskId }, 'b'),
      await ask(url, method, { taskId }, 'a.greet'),
      await ask(url, method, { taskId: unknown }),
      await ask(url, method, { taskId: 'no-handle' }),
    ];
    const error = {
      code: -32602,
      message: 'No task has this id: it was never created, or its result is no longer kept.',
      data: { code: 'unknown_task', request_id: expect.any(String) },
    };
    expect(answers).toEqual(answers.map(() => ({ status: 200, result: {}, error })));
    expect((await desk.pendingTasks.find('a', taskId, 0))?.state).toBe('running');
    // Its own tenant, with a key that may use it.
    expect((await ask(url, method, { taskId }, 'a.slow_compute')).result).toMatchObject({ resultType: 'complete' });
  },
);

test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
  '%s is refused to a client that does not declare tasks',
  async (method) => {
    const { url } = await start();
    const taskId = await begin(url);
    expect(await postModern(url, method, { taskId }, { 'mcp-name': taskId })).toMatchObject({
      status: 400,
      messages: [{ id: 1, error: { code: -32021, data: { requiredCapabilities: expect.any(Object) } } }],
    });
    // A task id that is none, and a header that names another task.
    expect(await ask(url, method, { taskId: 5 })).toMatchObject({ error: { code: -32602 } });
    const other = await postModern(url, method, { taskId, ...WITH_TASKS }, { 'mcp-name': 'c_another' });
    expect(other).toMatchObject({ status: 400, messages: [{ error: { code: -32020 } }] });
  },
);

test('a store that is away is an error that says so, and no bug', async () => {
  const desk = createTaskDesk();
  const away = () => Promise.reject(new Error('away'));
  const { url, bugs } = await startRoute({ ...desk, pendingTasks: { find: away, cancel: away } });
  const asked = await ask(url, 'tasks/get', { taskId: 'c_0123456789012345678901' });
  expect(asked).toMatchObject({ error: { code: -32000, data: { code: 'store_unavailable' } } });
  expect(bugs).toEqual([]);
});

test('changes of tasks are not told: the filter is not granted, and refused where tasks are not declared', async () => {
  const { url } = await start();
  const params = { notifications: { taskIds: ['c'] } };
  expect((await postModern(url, 'subscriptions/listen', { ...params, ...WITH_TASKS })).messages).toMatchObject([
    { params: { notifications: {} } },
    { result: { resultType: 'complete' } },
  ]);
  expect(await postModern(url, 'subscriptions/listen', params)).toMatchObject({
    status: 400,
    messages: [{ id: 1, error: { code: -32021 } }],
  });
});
