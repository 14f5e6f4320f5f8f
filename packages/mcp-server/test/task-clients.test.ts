// The extension's own client, which checks each answer by the extension's schemas.
import { createTaskSessionFromClient, type TaskEnabledSession } from '@modelcontextprotocol/ext-tasks/client';
import { isJsonValue } from '@modelcontextprotocol/ext-tasks/core';
import { connect, post } from '@recourse/test-support/mcp-clients.ts';
import { expect, onTestFinished, test } from 'vitest';
import { startRoute } from './start-route.ts';
import { createTaskDesk } from './task-desk.ts';

type Dispatch = Extract<
  Parameters<typeof createTaskSessionFromClient>[1],
  { readonly rawDispatch: unknown }
>['rawDispatch'];

/** Posts what the client of the extension gives it, as its transport would: the SDK's own knows no tasks of this revision. */
const toDispatch =
  (url: string): NonNullable<Dispatch> =>
  async (request) => {
    const { method, params } = { method: '', params: {}, ...Object(request) };
    const name: unknown = Reflect.get(Object(params), 'taskId') ?? Reflect.get(Object(params), 'name');
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String(name) };
    const { messages } = await post(url, { jsonrpc: '2.0', id: 1, ...Object(request) }, headers);
    const { result, error } = { result: null, error: undefined, ...messages[0] };
    if (error !== undefined) return { kind: 'error', error: { code: 0, message: '', ...Object(error) } };
    if (!isJsonValue(result)) throw new Error('The answer is no JSON.');
    return { kind: 'result', result };
  };

const start = async (): Promise<TaskEnabledSession> => {
  const { url } = await startRoute(createTaskDesk());
  const { client } = await connect(url, 'modern');
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    rawDispatch: toDispatch(url),
    v2RequestFraming: {
      protocolVersion: '2026-07-28',
      clientInfo: { name: 'test', version: '1' },
      clientCapabilities: {},
    },
  });
  onTestFinished(() => session.close());
  return session;
};

test('a call that becomes a task is settled by its result, which may be an error', async () => {
  const session = await start();
  const execution = await session.callTool('failing_job', {});
  expect(execution.kind).toBe('task');
  const { outcome } = await execution.settle();
  expect(outcome).toMatchObject({ status: 'completed', result: { isError: true } });
});

test('a call that ends at once is no task', async () => {
  const session = await start();
  const execution = await session.callTool('greet', { name: 'A' });
  expect(execution.kind).toBe('immediate');
  const { outcome } = await execution.settle();
  expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ text: 'Hello, A!' }] } });
});

test('a task that its client cancels is cancelled', async () => {
  const session = await start();
  const execution = await session.callTool('slow_compute', { seconds: 600 });
  await execution.cancel();
  expect(await execution.result()).toMatchObject({ status: 'cancelled' });
});
