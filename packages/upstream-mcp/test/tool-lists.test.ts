import { type McpLab, startMcpLab } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { type RawScript, rawProgram, readTool, startRawHttp } from '@recourse/test-support/mcp-servers/raw-script.ts';
import { expect, onTestFinished, test } from 'vitest';

const startLab = async (script: RawScript): Promise<McpLab> => {
  const lab = await startMcpLab(rawProgram(script));
  onTestFinished(() => lab[Symbol.asyncDispose]());
  return lab;
};

const ALPHA = readTool('alpha');
const BETA = readTool('beta');
const page = (tools: readonly object[], nextCursor?: string | null) => ({ tools, nextCursor });

test.each<[string, RawScript]>([
  [
    'gives the same page for every cursor',
    { pages: { first: page([ALPHA, BETA], 'x'), '*': page([ALPHA, BETA], 'x') } },
  ],
  [
    'goes round in a circle',
    { pages: { first: page([ALPHA], 'a'), a: page([BETA], 'b'), b: page([ALPHA], 'a'), '*': page([]) } },
  ],
  ['names a tool twice on a page', { tools: [ALPHA, BETA, ALPHA] }],
  ['ends with an empty cursor', { pages: { first: page([ALPHA, BETA], '') } }],
  ['is null where it has nothing more', { pages: { first: page([ALPHA, BETA], 'a'), a: { tools: null } } }],
  ['ends with null', { pages: { first: page([ALPHA, BETA], null) } }],
  [
    'describes a tool anew on a later page',
    { pages: { first: page([ALPHA, BETA], 'a'), a: page([readTool('alpha', { description: 'later' })]) } },
  ],
])('a list that %s offers each tool once, as it was first listed', async (_, script) => {
  const { tools, unavailable } = (await startLab(script)).latest();
  expect(tools.map(({ name, description }) => [name, description])).toEqual([
    ['lab_alpha', ''],
    ['lab_beta', ''],
  ]);
  expect(unavailable).toEqual([]);
});

test.each<[string, RawScript['pages']]>([
  ['asks for what follows', { first: page([ALPHA], ''), '': page([BETA], 'c'), c: page([]) }],
  ['is refused', { first: page([ALPHA, BETA], '') }],
])('since MCP 2026-07-28 an empty cursor is one like any other, also where it %s', async (_, pages = {}) => {
  const server = await startRawHttp({ isModern: true, pages }, { form: 'json' });
  onTestFinished(server.stop);
  const lab = await startMcpLab(server.settings);
  onTestFinished(() => lab[Symbol.asyncDispose]());
  expect(lab.latest().tools.map(({ name }) => name)).toEqual(['lab_alpha', 'lab_beta']);
});

test('a tool whose arguments are refused says so at once, however long ago the list was read', async () => {
  const refused = '{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no such month"}}';
  const script = { tools: [ALPHA], calls: { alpha: refused } };
  const lab = await startMcpLab(rawProgram(script), { timing: { refreshGapMs: 600_000 } });
  onTestFinished(() => lab[Symbol.asyncDispose]());
  const answers = [await lab.call('lab_alpha'), await lab.call('lab_alpha')];
  for (const answer of answers) expect(answer).toMatchObject({ outcome: 'retry', message: 'no such month' });
});
