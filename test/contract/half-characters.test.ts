import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const HALF = 'a face \ud83d';
const input = z.strictObject({ n: z.number().optional() });
const make = (name: string, run: () => unknown) =>
  defineTool({ name, description: `Gives ${HALF}.`, effects: 'read', input, run });

const TOOLS = [
  make('text', () => HALF),
  make('value', () => ({ [HALF]: [HALF, { other: '\ude00x', whole: '😀', told: '\\ud83d' }] })),
  make('error', () => {
    throw new Error(HALF);
  }),
  make('failure', () => {
    throw Object.assign(new Error('no'), { hint: HALF, value: { of: HALF } });
  }),
];

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, TOOLS);
});
afterAll(() => service.stop());

const isWhole = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  return typeof value !== 'object' || value === null || Object.entries(value).flat().every(isWhole);
};

const post = async (body: unknown, query = '', accept = 'application/json'): Promise<string> => {
  const headers = { 'content-type': 'application/json', accept };
  const answer = await fetch(`${service.url}/tool-calls${query}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return await answer.text();
};

const CALLS = [
  ...TOOLS.map(({ name }) => ({ id: name, name, input: {} })),
  { id: 'unknown_tool', name: HALF, input: {} },
  { id: 'unknown_parameter', name: 'text', input: { [HALF]: 1 } },
  { id: 'wrong_type', name: 'text', input: { n: HALF } },
  { id: HALF, name: 'text', input: {} },
];

const TURNS: readonly (readonly [format: string, turn: unknown])[] = [
  ['native', { calls: CALLS.map(({ input: given, ...call }) => ({ ...call, arguments: given })) }],
  ['anthropic', CALLS.map((call) => ({ type: 'tool_use', ...call }))],
  [
    'openai-chat',
    {
      tool_calls: CALLS.map(({ id, name, input: given }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(given) },
      })),
    },
  ],
  ['gemini', CALLS.map(({ id, name, input: given }) => ({ functionCall: { id, name, args: given } }))],
];

test.each(TURNS)('no half of a character is in an answer to %s', async (format, turn) => {
  for (const query of format === 'native' ? [''] : [`?format=${format}`, `?format=${format}&raw=true`]) {
    const text = await post(turn, query);
    expect([text.includes('a face'), isWhole(JSON.parse(text))]).toEqual([true, true]);
  }
});

test('a whole character, and the text of an escape, stay as they are', async () => {
  expect(JSON.parse(await post({ calls: [{ name: 'value' }, { name: 'text' }] }))).toMatchObject({
    results: [
      { value: { 'a face \ufffd': ['a face \ufffd', { other: '\ufffdx', whole: '😀', told: '\\ud83d' }] } },
      { value: 'a face \ufffd' },
    ],
  });
});

test('no half of a character is in a stream, a catalogue or the view of a session', async () => {
  const lines = await post(
    { session_id: 'halves', calls: [{ name: 'value' }, { name: HALF }] },
    '',
    'application/x-ndjson',
  );
  const bodies = lines.trimEnd().split('\n');
  for (const path of ['/tools', '/tools?format=anthropic', '/tools/text', '/sessions/halves'])
    bodies.push(await (await fetch(service.url + path)).text());
  for (const body of bodies) expect(isWhole(JSON.parse(body))).toBe(true);
});

const askMcp = async (method: string, params: unknown): Promise<string> => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const text = await (await fetch(`${service.url}/mcp`, { method: 'POST', headers, body })).text();
  return text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '');
};

test('no half of a character is in what MCP clients read', async () => {
  for (const { name } of [...TOOLS, { name: HALF }]) {
    const text = await askMcp('tools/call', { name, arguments: {} });
    expect([text.includes('a face'), isWhole(JSON.parse(text))]).toEqual([true, true]);
  }
  expect(isWhole(JSON.parse(await askMcp('tools/list', {})))).toBe(true);
});

test('a session id with half a character is refused: in Redis it would be the id of others', async () => {
  const detail = 'session_id: must be valid Unicode: it contains half a character (a lone surrogate)';
  for (const query of ['', '?raw=false'])
    expect(JSON.parse(await post({ session_id: 'x\ud83d', calls: [] }, query))).toMatchObject({
      status: 400,
      code: 'invalid_envelope',
      detail,
    });
  const meta = { 'recourse/session_id': 'x\ud83d' };
  const refused = await askMcp('tools/call', { name: 'text', arguments: {}, _meta: meta });
  expect(refused).toContain('it contains half a character (a lone surrogate)');
  expect(JSON.parse(await post({ session_id: 'x😀', calls: [] }))).toMatchObject({ session_id: 'x😀' });
});
