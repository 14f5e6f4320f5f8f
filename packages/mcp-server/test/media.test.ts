import { connect, post } from '@recourse/test-support/mcp-clients.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { ok } from 'recourse-server/internal/tools/tool-values.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const PNG = { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAA' };
const SOUND = { type: 'audio', mimeType: 'audio/mpeg', data: 'SUQzBAAAAAAAI1RTU0UAAAAP' };
const FILE = { type: 'resource', mimeType: 'application/pdf', uri: 'file:///a.pdf', data: 'JVBERi0=' };
const UNNAMED = { ...FILE, uri: null };

const tool = (name: string, run: () => unknown, output?: z.ZodType) =>
  defineTool({ name, description: name, effects: 'read', input: z.object({}), run, ...(output ? { output } : {}) });

const LINK = { type: 'resource_link', uri: 'file:///b.txt', name: 'b.txt', mimeType: 'text/plain' };
const TEXT = { type: 'resource', mimeType: 'text/plain', uri: 'file:///c.txt', text: 'to "c"' };

const TOOLS = [
  tool('point', () => ({ content: [{ type: 'text', text: 'There:' }, { ...LINK, bytes: null }, TEXT] })),
  tool('look', () => ({ content: [{ type: 'text', text: 'Before.' }, PNG, SOUND, FILE] })),
  tool('told', () => ok(PNG, 'A map.')),
  tool('unnamed', () => ({ content: [UNNAMED] })),
  tool('promised', () => ({ page: 'Home', screenshot: PNG }), z.object({ page: z.string(), screenshot: z.unknown() })),
];

test.each(['modern', 'legacy'] as const)('media are content of their own, and are not repeated (%s)', async (era) => {
  const service = await startService({}, TOOLS);
  onTestFinished(service.stop);
  const { client } = await connect(service.url, era);
  await client.listTools();
  const look = await client.callTool({ name: 'look' });
  expect(look.content).toEqual([
    { type: 'text', text: 'Before.' },
    PNG,
    SOUND,
    { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'JVBERi0=' } },
  ]);
  expect(look).not.toHaveProperty('structuredContent');
  expect((await client.callTool({ name: 'told' })).content).toEqual([{ type: 'text', text: 'A map.' }, PNG]);
  expect(await client.callTool({ name: 'unnamed' })).toMatchObject({
    content: [{ type: 'text', text: 'application/pdf, 5 bytes, not shown here' }],
    structuredContent: { content: [UNNAMED] },
  });
  expect(await client.callTool({ name: 'promised' })).toMatchObject({
    content: [{ type: 'text', text: '{"page":"Home","screenshot":"image/png, 18 bytes"}' }, PNG],
    structuredContent: { page: 'Home', screenshot: PNG },
    isError: false,
  });
});

test('links are blocks of their own where the revision that a request names has them, and else told of', async () => {
  const service = await startService({}, TOOLS);
  onTestFinished(service.stop);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'point', arguments: {} } };
  const contentOf = async (headers: Readonly<Record<string, string>>) =>
    Object((await post(service.url, call, headers)).messages[0]?.['result']).content;
  const resource = { type: 'resource', resource: { uri: 'file:///c.txt', mimeType: 'text/plain', text: 'to "c"' } };

  for (const revision of ['2025-06-18', '2025-11-25'])
    expect(await contentOf({ 'mcp-protocol-version': revision })).toEqual([
      { type: 'text', text: 'There:' },
      LINK,
      resource,
    ]);
  for (const headers of [{}, { 'mcp-protocol-version': '2025-03-26' }])
    expect(await contentOf(headers)).toEqual([
      { type: 'text', text: `There:\n${JSON.stringify({ ...LINK, bytes: null })}` },
      resource,
    ]);
});
