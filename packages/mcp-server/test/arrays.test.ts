import { post } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

let ran = 0;
const COUNT = defineTool({
  name: 'count',
  description: 'Counts.',
  effects: 'read',
  input: z.object({}),
  run: () => {
    ran += 1;
    return ran;
  },
});

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, [COUNT]);
});
afterAll(() => service.stop());

const REFUSED = {
  jsonrpc: '2.0',
  error: {
    code: -32600,
    message: 'Batched messages are not supported. Send each message in its own request.',
  },
};

test.each([undefined, '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '1999-01-01'])(
  'revision %s: a body of several messages is refused with one error, and nothing in it runs',
  async (revision) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'count', arguments: {} } };
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };

    const answer = await post(
      service.url,
      [call, list],
      revision === undefined ? {} : { 'mcp-protocol-version': revision },
    );
    expect(answer).toMatchObject({ status: 400, messages: [REFUSED] });
    expect(ran).toBe(0);
  },
);

const List = z.object({ id: z.unknown(), result: z.object({ tools: z.array(z.object({ name: z.string() })) }) });

test('tools/list answers each request under its own id, also one that looks like the catalogue', async () => {
  for (const id of [1, 'a', '"tools":[]']) {
    const [message] = (await post(service.url, { jsonrpc: '2.0', id, method: 'tools/list' })).messages;
    const { id: answered, result } = List.parse(message);
    expect(answered).toBe(id);
    expect(result.tools.map(({ name }) => name)).toContain('read_file');
  }
});
