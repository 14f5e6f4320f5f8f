import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Issue } from '#src/contract/tool-result.ts';
import { invalidArgumentsText } from '#src/executor/failure-text.ts';
import { createWideLiterals, parseArguments } from '#src/executor/parse-arguments.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { InlineTool } from '#src/tools/tool.ts';

const MANY = 90_000;
const UNKNOWN = Object.fromEntries(Array.from({ length: MANY }, (_, n) => [`k${n}`, n]));
const toTool = (input: Parameters<typeof defineTool>[0]['input']): InlineTool =>
  defineTool({ name: 'search', description: 'Searches.', effects: 'read', input, run: () => 'found' });

const ZOD = toTool(z.object({ text: z.string(), id: z.int().optional() }));
const parse = (value: object, tool: InlineTool) => {
  const source = JSON.stringify(value);
  const parsed = parseArguments(JSON.parse(source), createWideLiterals(source), tool);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed;
};

const issuesOf = (prepared: Awaited<ReturnType<InlineTool['prepare']>>): readonly Issue[] =>
  prepared.ok ? [] : prepared.issues;

const textOf = (issues: readonly Issue[]): string => invalidArgumentsText(ZOD, issues, issues.length);

const unknownLines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, n) => `- k${from + n}: unknown parameter; accepted: text, id\n`).join('');
const MISSING = '- text: required parameter missing\n';
const FIX = "Fix these and call 'search' again.";

test.each([
  ['none besides', { ...UNKNOWN, text: 'x' }, MANY, unknownLines(0, 10)],
  ['a missing one', UNKNOWN, MANY + 1, `${MISSING}${unknownLines(0, 9)}`],
  [
    'a wrong one among them',
    { k0: 0, id: 'x', ...UNKNOWN },
    MANY + 2,
    `${MISSING}- id: expected a number, got the string "x"\n${unknownLines(0, 8)}`,
  ],
])(
  'ninety thousand unknown parameters and %s are all counted and the first ten told',
  async (_, value, total, lines) => {
    const issues = issuesOf(await ZOD.prepare(parse(value, ZOD).value));
    expect(textOf(issues)).toBe(
      `Invalid arguments for 'search' (${total} problems):\n${lines}… and ${total - 10} more\n${FIX}`,
    );
  },
);
