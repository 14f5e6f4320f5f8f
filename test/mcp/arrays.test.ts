import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { startService } from '#test/support/start-service.ts';
import { post } from './mcp-clients.ts';

const start = async (...tools: readonly Tool[]) => {
  const service = await startService({}, tools);
  onTestFinished(service.stop);
  return service;
};

const REFUSED = {
  jsonrpc: '2.0',
  id: null,
  error: {
    code: -32600,
    message: 'Several messages in one body are not taken. Send each in a request of its own.',
  },
};

test.each([undefined, '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '1999-01-01'])(
  'revision %s: a body of several messages is refused with one error, and nothing in it runs',
  async (revision) => {
    let ran = 0;
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      effects: 'read',
      input: z.object({}),
      run: () => {
        ran += 1;
        return ran;
      },
    });
    const { url } = await start(count);
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'count', arguments: {} } };
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };

    const answer = await post(url, [call, list], revision === undefined ? {} : { 'mcp-protocol-version': revision });
    expect(answer).toMatchObject({ status: 400, messages: [REFUSED] });
    expect(ran).toBe(0);
  },
);

const List = z.object({ id: z.unknown(), result: z.object({ tools: z.array(z.object({ name: z.string() })) }) });

test('tools/list answers each request under its own id, also one that looks like the catalogue', async () => {
  const { url } = await start();
  for (const id of [1, 'a', '"tools":[]']) {
    const [message] = (await post(url, { jsonrpc: '2.0', id, method: 'tools/list' })).messages;
    const { id: answered, result } = List.parse(message);
    expect(answered).toBe(id);
    expect(result.tools.map(({ name }) => name)).toContain('read_file');
  }
});
