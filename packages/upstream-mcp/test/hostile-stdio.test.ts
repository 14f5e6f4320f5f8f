import { type McpLab, startMcpLab } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

// In a process of its own, without any SDK.
const SERVER = `
const send = (id, result) => process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}\\n');
const text = (value) => JSON.stringify({ content: [{ type: 'text', text: String(value) }] });
const full = (dense) => '{"content":[],"structuredContent":{"a":' + dense + '}}';
const wide = (count) => Object.fromEntries(Array.from({ length: count }, (_, at) => ['p' + at, { type: 'string' }]));
const dear = { a: { type: 'string', pattern: '^(' + 'b'.repeat(100) + '|c){0,900}$' } };
const schemas = { wide: wide(1200), dear };
const pour = (id) => {
  let written = 0;
  const line = Buffer.from('x'.repeat(4000) + '\\n');
  const until = Date.now() + 1000;
  const more = () => process.stderr.write(line, () => {
    written += line.length;
    if (Date.now() < until) more();
    else send(id, text(written));
  });
  more();
};
const calls = {
  lists: (id) => send(id, full('['.repeat(300000) + ']'.repeat(300000))),
  objects: (id) => send(id, full('[' + '{},'.repeat(300000) + '0]')),
  errors: pour,
  dear: (id) => send(id, text('taken')),
};
const tools = [...Object.keys(calls), 'wide'].map((name) => ({
  name,
  inputSchema: { type: 'object', properties: schemas[name] ?? {} },
  annotations: { readOnlyHint: true },
}));
const welcome = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'tools/call') calls[params.name](id);
  else if (method === 'tools/list') send(id, JSON.stringify({ tools }));
  else if (id !== undefined) send(id, JSON.stringify(method === 'initialize' ? welcome : {}));
});
`;

let lab: McpLab;
beforeAll(async () => {
  lab = await startMcpLab({ command: process.execPath, args: ['-e', SERVER] });
});
afterAll(() => lab[Symbol.asyncDispose]());

test.each(['lists', 'objects'])('an answer full of %s is too large, and the connection lives', async (tool) => {
  expect(await lab.call(`lab_${tool}`)).toMatchObject({ success: false, error: { code: 'output_too_large' } });
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
});

test('a server that pours its log waits for us: no more than some megabytes a second are looked at', async () => {
  const { success, value } = await lab.call('lab_errors');
  expect(success).toBe(true);
  expect(Number(value)).toBeLessThan(8_000_000);
});

test('a tool whose schema takes long to compile is unavailable, and the others serve', () => {
  expect(lab.latest().unavailable.map(({ facts, reason }) => [facts.name, reason])).toEqual([
    ['lab_wide', 'its input schema is too large or too deep'],
  ]);
});

test('a pattern whose program would be megabytes is left to the server', async () => {
  expect(await lab.call('lab_dear', { a: 'nothing of the kind' })).toMatchObject({ success: true, value: 'taken' });
});
