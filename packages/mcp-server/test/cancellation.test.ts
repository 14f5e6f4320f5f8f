import { connect, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

/** Tools that wait until they are told, and what became of their calls. */
type Lab = {
  readonly service: RunningService;
  readonly seen: readonly string[];
  /** Resolves when this has been seen. */
  readonly saw: (what: string) => Promise<void>;
  readonly tell: () => void;
};

const startLab = async (): Promise<Lab> => {
  const seen: string[] = [];
  const told = Promise.withResolvers<void>();
  const waiting = (name: string, effects: 'read' | 'write'): Tool =>
    defineTool({
      name,
      description: name,
      effects,
      input: z.object({}),
      run: async (_input, { signal }) => {
        seen.push(`${name} began`);
        signal.addEventListener('abort', () => void seen.push(`${name} aborted`));
        const aborted = new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
        await (effects === 'read' ? Promise.race([told.promise, aborted]) : told.promise);
        seen.push(`${name} ended`);
        return 'told';
      },
    });
  const service = await startService({}, [waiting('wait', 'read'), waiting('wait_writing', 'write')]);
  onTestFinished(service.stop);
  onTestFinished(() => told.resolve());
  return {
    service,
    seen,
    saw: (what) => expect.poll(() => seen, { timeout: timeLimit(15_000) }).toContain(what),
    tell: told.resolve,
  };
};

test.each(['modern', 'legacy'] as const)(
  'a call that the client cancels is aborted where that is safe (%s)',
  async (era) => {
    const { service, saw, seen } = await startLab();
    const { client } = await connect(service.url, era);
    const cancelling = new AbortController();

    const called = client.callTool({ name: 'wait' }, { signal: cancelling.signal });
    const ended = called.then(
      () => 'answered',
      () => 'given up',
    );
    await saw('wait began');
    cancelling.abort('enough');
    expect(await ended).toBe('given up');
    await saw('wait aborted');
    expect(seen).not.toContain('wait ended');
    expect(await client.callTool({ name: 'echo', arguments: { text: 'x' } })).toMatchObject({ isError: false });
  },
);

test.each(['modern', 'legacy'] as const)('a write goes on when its client cancels it (%s)', async (era) => {
  const { service, saw, seen, tell } = await startLab();
  const { client } = await connect(service.url, era);
  const cancelling = new AbortController();

  const called = client.callTool({ name: 'wait_writing' }, { signal: cancelling.signal });
  const ended = called.then(
    () => 'answered',
    () => 'given up',
  );
  await saw('wait_writing began');
  cancelling.abort('enough');
  expect(await ended).toBe('given up');
  tell();
  await saw('wait_writing ended');
  expect(seen).not.toContain('wait_writing aborted');
});

test.each(['modern', 'legacy'] as const)('a connection that closes ends its call (%s)', async (era) => {
  const { service, saw } = await startLab();
  const leaving = new AbortController();
  const params = { name: 'wait', arguments: {} };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const modern = { ...body, params: { ...params, _meta: META } };

  const asked = fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(era === 'modern' ? MODERN_HEADERS : {}) },
    body: JSON.stringify(era === 'modern' ? modern : body),
    signal: leaving.signal,
  }).then((answer) => answer.text());
  const left = asked.then(
    () => 'answered',
    () => 'left',
  );
  await saw('wait began');
  leaving.abort();
  expect(await left).toBe('left');
  await saw('wait aborted');
});

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
} as const;
const MODERN_HEADERS = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'wait',
} as const;

test('only the session that a call belongs to can cancel it, and only by its very id', async () => {
  const { service, saw, seen, tell } = await startLab();
  const { url } = service;
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } };
  const cancel = (requestId: unknown) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });

  const mine = post(url, call, { 'mcp-session-id': 'mine' });
  const nobodys = post(url, { ...call, id: 2 });
  // In revision 2026-07-28 several agents may send one header, and each counts its ids from the same number.
  const shared = { 'mcp-session-id': 'shared' };
  const agents = [{}, { _meta: { progressToken: 1 } }].map((more) =>
    postModern(url, 'tools/call', { ...call.params, ...more }, shared),
  );
  await expect.poll(() => seen.filter((what) => what === 'wait began').length, { timeout: timeLimit(15_000) }).toBe(4);
  const modernCancel = { ...cancel(1), params: { requestId: 1, _meta: META } };
  const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/cancelled' };
  expect(await post(url, modernCancel, { ...modernHeaders, ...shared })).toMatchObject({ status: 202 });
  expect(await post(url, cancel(1), shared)).toMatchObject({ status: 202 });
  expect(await post(url, cancel(1), { 'mcp-session-id': 'other' })).toMatchObject({ status: 202 });
  expect(await post(url, cancel('1'), { 'mcp-session-id': 'mine' })).toMatchObject({ status: 202 });
  expect(await post(url, cancel(2))).toMatchObject({ status: 202 });
  expect(await post(url, cancel(7), { 'mcp-session-id': 'mine' })).toMatchObject({ status: 202 });
  expect(await postModern(url, 'tools/list')).toMatchObject({ status: 200 });
  expect(seen).not.toContain('wait aborted');

  expect(await post(url, cancel(1), { 'mcp-session-id': 'mine' })).toMatchObject({ status: 202 });
  await saw('wait aborted');
  // Nothing more is sent for a request that is cancelled; its stream ends.
  expect(await mine).toMatchObject({ status: 200, messages: [] });
  tell();
  expect(await nobodys).toMatchObject({ messages: [{ id: 2, result: { isError: false } }] });
  for (const answered of await Promise.all(agents))
    expect(answered).toMatchObject({ messages: [{ id: 1, result: { isError: false } }] });
});

test('of several calls of a session one can be cancelled, and the others are answered', async () => {
  const { service, saw, tell } = await startLab();
  const { url } = service;
  const session = { 'mcp-session-id': 's' };
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  });

  const asked = [call(1, 'wait'), call(2, 'wait_writing')].map((one) => post(url, one, session));
  await saw('wait began');
  await saw('wait_writing began');
  await post(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, session);
  await saw('wait aborted');
  tell();
  const messages = (await Promise.all(asked)).flatMap((answer) => answer.messages);
  // What was cancelled is answered by nothing that its client would have to read.
  expect(messages.find(({ id }) => id === 1)).toBeUndefined();
  expect(messages.find(({ id }) => id === 2)).toMatchObject({ result: { isError: false } });
});
