import { pickFacts } from '@recourse/tool-hosts/directory/load-tool-file';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool, type ToolDefinition } from '#src/tools/define-tool.ts';
import { describeTool } from '#src/tools/registry.ts';

const declare = (options: Partial<ToolDefinition<z.ZodObject>> = {}) =>
  defineTool({
    name: 'ask_site',
    description: 'Made for one test.',
    effects: 'read',
    input: z.object({ site: z.string(), query: z.string() }),
    run: () => null,
    ...options,
  });

test('what a tool does not say about sessions is: as many calls as come, no polling, one upstream', () => {
  expect(declare()).toMatchObject({
    role: 'tool',
    maxCallsPerSession: null,
    polling: false,
    breakerKey: null,
    breakerKeyOf: null,
  });
});

test.each([0, 1, 500])(
  'a tool may say that %i calls of it may run in a session, and the catalogue shows it',
  (most) => {
    const tool = declare({ maxCallsPerSession: most });
    expect(tool.maxCallsPerSession).toBe(most);
    expect(describeTool(tool).limits).toEqual({
      timeout_ms: 30_000,
      retries: 3,
      concurrency: null,
      max_calls_per_session: most,
    });
  },
);

test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('%d calls per session are refused', (most) => {
  expect(() => declare({ maxCallsPerSession: most })).toThrow(
    new TypeError(
      `Tool 'ask_site': maxCallsPerSession must be a whole number from 0 to 9007199254740991, not ${String(most)}.`,
    ),
  );
});

test('a tool may say that it polls, in a plain yes or no', () => {
  expect(declare({ polling: true }).polling).toBe(true);
  expect(declare({ polling: false }).polling).toBe(false);
  // @ts-expect-error: a tool file's types are stripped, not checked.
  expect(() => declare({ polling: 'yes' })).toThrow(
    new TypeError("Tool 'ask_site': polling must be true or false, not 'yes'."),
  );
});

test('the name of an argument says which upstream a call talks to, wherever the tool runs', () => {
  const tool = declare({ breakerKey: 'site' });
  expect(tool.breakerKey).toBe('site');
  expect(tool.breakerKeyOf?.({ site: 'a.example', query: 'x' })).toBe('a.example');
  expect(tool.breakerKeyOf?.({})).toBeUndefined();
  expect(pickFacts(tool, null)).toMatchObject({ breakerKey: 'site', inlineOnly: null });
});

test('an argument that was not sent is none, whatever objects inherit', () => {
  const open = declare({ input: z.looseObject({}), breakerKey: 'toString' });
  expect(open.breakerKeyOf?.({})).toBeUndefined();
  expect(open.breakerKeyOf?.({ toString: 'b.example' })).toBe('b.example');
});

test('a function of the arguments says it, too, for a tool that runs inside the service', () => {
  const tool = declare({ breakerKey: ({ site }) => `https://${String(site)}` });
  expect(tool.breakerKey).toBeNull();
  expect(tool.breakerKeyOf?.({ site: 'a.example' })).toBe('https://a.example');
  expect(pickFacts(tool, null)).toMatchObject({ breakerKey: null, inlineOnly: 'breakerKey' });
});

test.each([
  ['an argument that the tool does not take', 'host'],
  ['the name of what every object has', 'constructor'],
  ['no name', ''],
])('a breaker key that is %s is refused', (_, breakerKey) => {
  expect(() => declare({ breakerKey })).toThrow(
    new TypeError("Tool 'ask_site': breakerKey must be the name of an argument, or a function of the arguments."),
  );
});

test('a breaker key that is neither a text nor a function is refused', () => {
  // @ts-expect-error: a tool file's types are stripped, not checked.
  expect(() => declare({ breakerKey: 7 })).toThrow(
    new TypeError("Tool 'ask_site': breakerKey must be the name of an argument, or a function of the arguments."),
  );
});

test.each([
  ['takes any argument', { type: 'object', additionalProperties: true }],
  ['takes arguments by a pattern', { type: 'object', patternProperties: { '^s': {} }, additionalProperties: false }],
])('a schema that %s may hold the breaker key', (_, schema) => {
  const run = () => null;
  const about = { name: 'open', description: '', effects: 'read', run, breakerKey: 'site' } as const;
  expect(defineTool({ ...about, input: schema }).breakerKey).toBe('site');
});
