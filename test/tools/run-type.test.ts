import { expect, test } from 'vitest';
import { defineTool, empty, ok, z } from '#src/recourse.ts';

const BASE = { name: 'rooms', description: '', effects: 'read', input: z.object({ day: z.string() }) } as const;
const output = z.object({ rooms: z.array(z.string()), state: z.enum(['open', 'shut']).default('open') });

// The compiler is what tests this file: each expected error must be one, and nothing else may be.
test('what run returns is checked against the output schema', () => {
  const freeze: readonly string[] = ['Ulm'];
  const tools = [
    defineTool({ ...BASE, output, run: ({ day }) => ({ rooms: [day.toUpperCase()] }) }),
    defineTool({ ...BASE, output, run: async ({ day }) => ({ rooms: [day], state: 'shut' }) }),
    defineTool({ ...BASE, output, run: () => ({ rooms: freeze }) }),
    defineTool({ ...BASE, output, run: () => ok({ rooms: [], state: 'open' }, 'Open.') }),
    defineTool({ ...BASE, output, run: async () => empty('None.', { rooms: [] }) }),
    defineTool({ ...BASE, output, run: ({ day }) => (day === '' ? empty('None.', { rooms: [] }) : { rooms: [day] }) }),
    defineTool({ ...BASE, output: z.string().nullable(), run: () => empty('None.') }),
    // Without an output, or with one that is no zod schema, anything goes.
    defineTool({ ...BASE, run: () => 7 }),
    defineTool({ ...BASE, output: { type: 'object' }, run: () => 7 }),
    // @ts-expect-error: a list of numbers.
    defineTool({ ...BASE, output, run: () => ({ rooms: [7] }) }),
    // @ts-expect-error: a member is missing.
    defineTool({ ...BASE, output, run: async () => ({ state: 'shut' }) }),
    // @ts-expect-error: not one of the states.
    defineTool({ ...BASE, output, run: () => ok({ rooms: [], state: 'ajar' }) }),
    // @ts-expect-error: nothing at all.
    defineTool({ ...BASE, output, run: () => undefined }),
    // @ts-expect-error: null breaks the schema, with a text beside it, too.
    defineTool({ ...BASE, output, run: () => empty('None.') }),
    // @ts-expect-error: the input has no such member.
    defineTool({ ...BASE, output, run: ({ date }) => ({ rooms: [date] }) }),
  ];
  expect(tools).toHaveLength(15);
  expect(() =>
    // @ts-expect-error: the compiler knows the members, too.
    defineTool({ ...BASE, run: () => 7, timeoutMS: 5 }),
  ).toThrow(new TypeError("Tool 'rooms': 'timeoutMS' is unknown to defineTool. Did you mean 'timeoutMs'?"));
  expect(() =>
    // @ts-expect-error: none of these.
    defineTool({ ...BASE, run: () => 7, retrys: 1, timeoutMS: 5, colour: 'red' }),
  ).toThrow(new TypeError("Tool 'rooms': 'retrys' is unknown to defineTool. Did you mean 'retries'?"));
});
