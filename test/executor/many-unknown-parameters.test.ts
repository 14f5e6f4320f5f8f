import { createArgumentChecks } from '@recourse/upstream-openapi/operation-tool';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Issue } from '#src/contract/tool-result.ts';
import { invalidArgumentsText } from '#src/executor/failure-text.ts';
import { createWideLiterals, parseArguments } from '#src/executor/parse-arguments.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { createJsonSchemaChecks } from '#src/tools/json-schema-checks.ts';
import type { InlineTool } from '#src/tools/tool.ts';

const MANY = 90_000;
const UNKNOWN = Object.fromEntries(Array.from({ length: MANY }, (_, n) => [`k${n}`, n]));
const OBJECT = {
  type: 'object',
  properties: { text: { type: 'string' }, id: { type: 'integer' } },
  required: ['text'],
};
const CLOSED = { ...OBJECT, additionalProperties: false };

const toTool = (input: Parameters<typeof defineTool>[0]['input']): InlineTool =>
  defineTool({ name: 'search', description: 'Searches.', effects: 'read', input, run: () => 'found' });

const ZOD = toTool(z.object({ text: z.string(), id: z.int().optional() }));
const REFINED = toTool(z.object({ text: z.string().refine((text) => text !== 'no'), id: z.int().optional() }));
const LARGE = toTool(z.object(Object.fromEntries(Array.from({ length: 2_500 }, (_, n) => [`k${n}`, z.int()]))));
const OPEN = toTool(z.looseObject({ text: z.string() }));
const OWN = toTool(OBJECT);
const OWN_RULES = toTool({ ...CLOSED, maxProperties: 50 });
const withCheck = (check: ReturnType<ReturnType<typeof createJsonSchemaChecks>>): InlineTool => ({
  ...OWN,
  prepare: (input, names) => {
    const checked = check(input, names);
    return checked.ok ? { ok: true, invocation: { run: () => null } } : checked;
  },
});
const FOREIGN = withCheck(createJsonSchemaChecks({ origin: 'foreign', toWideInteger: BigInt })(CLOSED));
const OPERATION = withCheck(createArgumentChecks('check')(CLOSED));

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
    const { value: input, names } = parse(value, ZOD);
    const issues = issuesOf(await ZOD.prepare(input, names));
    expect(textOf(issues)).toBe(
      `Invalid arguments for 'search' (${total} problems):\n${lines}… and ${total - 10} more\n${FIX}`,
    );
  },
);

const SOME = Object.fromEntries(Object.entries(UNKNOWN).slice(0, 3_000));
const VALUES = {
  'unknown ones alone': SOME,
  'a right one last': { ...SOME, text: 'x' },
  'wrong ones': { id: 'x', text: 1, ...SOME },
  'a wide id': { ...SOME, id: '12345678901234567890', text: 'x' },
  'names that are places': { ...SOME, 7: 0, 3: 0, constructor: 1, toString: 1, text: 'x' },
  'one unknown more than are told': Object.fromEntries(Object.entries({ ...SOME, text: 'x' }).slice(-2_101)),
  'names that are all known to one': Object.fromEntries(Object.entries(SOME).slice(0, 2_500)),
};
const TOOLS = { ZOD, REFINED, LARGE, OPEN, OWN, OWN_RULES, FOREIGN, OPERATION };

test.each(
  Object.entries(TOOLS).flatMap(([kind, tool]) =>
    Object.entries(VALUES).map(([what, value]) => [kind, what, tool, value] as const),
  ),
)('the %s tool answers %s as it does where nobody knows the names', async (_kind, _what, tool, value) => {
  const { value: input, names } = parse(value, tool);
  expect(names?.length).toBe(Object.keys(value).length);
  const prepared = await tool.prepare(input, names);
  const whole = await tool.prepare(input);
  expect(prepared.ok).toBe(whole.ok);
  // Not compared item by item: nearly all are the same one.
  expect(JSON.stringify(issuesOf(prepared))).toBe(JSON.stringify(issuesOf(whole)));
});

test.each(Object.entries({ ZOD, OWN, FOREIGN, OPERATION }))(
  'the check of the %s tool lists no names again, which takes as long as to look at all of them',
  async (_, tool) => {
    const { value, names } = parse(SOME, tool);
    let listings = 0;
    const watched = new Proxy(value, {
      ownKeys: (target) => {
        listings += 1;
        return Reflect.ownKeys(target);
      },
    });
    expect((await tool.prepare(watched, names)).ok).toBe(false);
    expect(listings).toBe(0);
  },
);

test('few names are listed by each check for itself', () => {
  expect(parse({ text: 'x' }, ZOD).names).toBeNull();
});
