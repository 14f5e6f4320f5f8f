import { connect, MODERN_META, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { toEndedResult } from 'recourse-server/internal/executor/render-result.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { startRoute } from './start-route.ts';

const COUNTING = defineTool({
  name: 'count',
  description: 'Counts, and now and then says a value that does not rise.',
  effects: 'read',
  input: z.object({}),
  run: async (_input, { progress }) => {
    for (const value of [1, 2, 2, 1, 3]) {
      progress({ progress: value, total: 3, message: `step ${value}` });
      await Promise.resolve();
    }
    return 'counted';
  },
});

const HOSTED = `
  import { defineTool } from 'recourse-server';
  export const countHosted = defineTool({
    name: 'count_hosted', description: 'Counts.', effects: 'read', input: { type: 'object' },
    run: async (_input, { progress }) => {
      for (const value of [1, 2, 3]) progress({ progress: value, total: 3 });
      return { counted: 3 };
    },
  });
`;

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<string> => {
  const service = await startService(environment, [COUNTING]);
  onTestFinished(service.stop);
  return service.url;
};

test.each(['modern', 'legacy'] as const)('a call says how far it is, in values that rise (%s)', async (era) => {
  const { client } = await connect(await start(), era);
  const heard: unknown[] = [];

  const result = await client.callTool({ name: 'count' }, { onprogress: (update) => heard.push(update) });
  expect(result).toMatchObject({ content: [{ text: 'counted' }] });
  expect(heard).toEqual([
    { progress: 1, total: 3, message: 'step 1' },
    { progress: 2, total: 3, message: 'step 2' },
    { progress: 3, total: 3, message: 'step 3' },
  ]);
});

test.each(['modern', 'legacy'] as const)('so does a call in a tool host, of a tools directory (%s)', async (era) => {
  const { root } = makeDirectory({ 'count.ts': HOSTED });
  const { client } = await connect(await start({ TOOLS_DIR: root }), era);
  const heard: unknown[] = [];

  const result = await client.callTool({ name: 'count_hosted' }, { onprogress: (update) => heard.push(update) });
  expect(result).toMatchObject({ structuredContent: { counted: 3 } });
  expect(heard).toEqual([
    { progress: 1, total: 3 },
    { progress: 2, total: 3 },
    { progress: 3, total: 3 },
  ]);
});

test('who gives no progress token hears of none', async () => {
  const url = await start();

  const modern = await postModern(url, 'tools/call', { name: 'count', arguments: {} });
  expect(modern.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(modern.messages).toHaveLength(1);
  const params = { name: 'count', arguments: {} };
  expect((await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })).messages).toHaveLength(1);
});

test('a handler that goes on after its call was answered tells nobody', async () => {
  const late = Promise.withResolvers<() => void>();
  const { url, bugs } = await startRoute({
    executeBatch: ({ listener }) => {
      listener?.progress?.(0, { progress: 1 });
      late.resolve(() => listener?.progress?.(0, { progress: 2 }));
      return Promise.resolve({ kind: 'results', results: [toEndedResult(RESULT)], origin: 'run' });
    },
  });
  const call = { name: 'count', arguments: {}, _meta: { ...MODERN_META, progressToken: 'token' } };
  const { messages } = await postModern(url, 'tools/call', call);
  (await late.promise)();
  expect(messages).toMatchObject([
    { method: 'notifications/progress', params: { progressToken: 'token', progress: 1 } },
    { id: 1, result: { structuredContent: { n: 1 } } },
  ]);
  expect(bugs).toEqual([]);
});

test('a bug behind progress ends the stream with an error', async () => {
  const { url, bugs } = await startRoute({
    executeBatch: ({ listener }) => {
      listener?.progress?.(0, { progress: 1 });
      throw new Error('secret');
    },
  });
  const call = { name: 'count', arguments: {}, _meta: { ...MODERN_META, progressToken: 'token' } };
  const { messages } = await postModern(url, 'tools/call', call);
  expect(messages).toMatchObject([{ params: { progress: 1 } }, { id: 1, error: { code: -32603 } }]);
  expect(bugs).toEqual([new Error('secret')]);
});

const RESULT =
  '{"index":0,"id":null,"name":"count","success":true,"outcome":"success","executed":"yes","value":{"n":1},"message":"","error":null,"retry":null,"duration_ms":1}';
