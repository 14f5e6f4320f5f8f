import { toolDigestOf } from '@recourse/decide/policies/tool-digest';
import { defineTool, z } from 'recourse-server';
import type { Tool } from 'recourse-server/tools/tool';
import { expect, test } from 'vitest';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effects: 'write',
  input: z.object({ amount: z.number() }),
  run: () => 'ok',
});
const inFile = (sources: Readonly<Record<string, string>>, root = '/tools'): Tool => ({
  ...pay,
  runsIn: 'host',
  file: {
    path: `${root}/pay.ts`,
    root,
    sources: new Map(Object.entries(sources).map(([name, text]) => [`${root}/${name}`, text])),
  },
});

test('a tool has one digest wherever it is, and another once anything of it is another', () => {
  const first = toolDigestOf(pay);
  expect(first).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(toolDigestOf({ ...pay })).toBe(first);
  const others: readonly Tool[] = [
    { ...pay, name: 'pays' },
    { ...pay, effects: 'idempotent' },
    { ...pay, inputSchema: { ...pay.inputSchema, additionalProperties: true } },
    { ...pay, outputSchema: { type: 'string' } },
    { ...pay, source: 'MCP server bank' },
  ];
  expect(new Set([first, ...others.map(toolDigestOf)]).size).toBe(others.length + 1);
});

test('a tool in a file is its file and what that may import, in whatever directory', () => {
  const one = inFile({ 'pay.ts': 'a', 'lib/bank.ts': 'b' });
  expect(toolDigestOf(inFile({ 'lib/bank.ts': 'b', 'pay.ts': 'a' }, '/elsewhere'))).toBe(toolDigestOf(one));
  expect(toolDigestOf(inFile({ 'pay.ts': 'a2', 'lib/bank.ts': 'b' }))).not.toBe(toolDigestOf(one));
  expect(toolDigestOf(inFile({ 'pay.ts': 'a', 'lib/bank.ts': 'b2' }))).not.toBe(toolDigestOf(one));
});
