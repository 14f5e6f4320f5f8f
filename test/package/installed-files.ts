/** A tool whose schema comes from this project's zod, and another one as JSON Schema: its check is loaded when it is needed. */
export const TOOL = (name: string, zod: string): string => `
import { defineTool, RetryableToolError } from 'recourse-server';
import { z } from ${JSON.stringify(zod)};

export const typed = defineTool({
  name: '${name}',
  description: 'Rolls a die.',
  effects: 'read',
  input: z.object({ sides: z.number().int().min(2) }),
  output: z.object({ rolled: z.number() }),
  run: ({ sides }) => {
    if (sides > 100) throw new RetryableToolError('There is no such die.', { executed: 'no' });
    return { rolled: sides };
  },
});

export const described = defineTool({
  name: '${name}_described',
  description: 'Says it again.',
  effects: 'read',
  input: { type: 'object', properties: { mail: { type: 'string', format: 'email' } }, required: ['mail'] },
  run: ({ mail }) => mail,
});
`;

/** What the compilers check. */
export const TYPED = `
import { createTester } from 'recourse-server/testing';
import { defineReducer, defineTool, empty, type JournalEntry, ok, type ToolContext, RetryableToolError, z } from 'recourse-server';

export const rollDice = defineTool({
  name: 'roll_dice',
  description: 'Rolls dice.',
  effects: 'read',
  input: z.object({ count: z.number().int().min(1), sides: z.number().int().default(6) }),
  output: z.object({ rolled: z.array(z.number()) }),
  timeoutMs: 1000,
  run: ({ count, sides }, { signal, log }: ToolContext) => {
    log.info('rolling', { count });
    if (signal.aborted) throw new RetryableToolError('Too late.', { executed: 'no' });
    return ok({ rolled: Array.from({ length: count }, (): number => sides) });
  },
});

export const described = defineTool({
  name: 'described',
  description: 'x',
  effects: 'write',
  input: { type: 'object', properties: { a: { type: 'string' } } },
  // @ts-expect-error: the compiler does not know what a JSON Schema describes.
  run: ({ a }) => (a === undefined ? empty('Nothing.') : a.length),
});

export const wrong = () =>
  defineTool({
    name: 'wrong',
    description: 'x',
    // @ts-expect-error: effects are a closed list.
    effects: 'perhaps',
    input: z.object({ n: z.number() }),
    // @ts-expect-error: n is a number.
    run: ({ n }) => n.length,
  });

export const entries = (entry: JournalEntry): unknown => [entry, defineReducer];

export const tried = async (): Promise<string> => {
  const result = await createTester(rollDice).call('roll_dice', { count: 1 });
  return result.success ? result.message : result.error.code;
};
`;

/** What Node imports. */
export const PROGRAM = `
import * as recourse from 'recourse-server';
import { createTester } from 'recourse-server/testing';
import { typed } from './dice.ts';
const tester = createTester(typed);
const rolled = async (sides) => {
  const result = await tester.call('dice', { sides });
  return result.success ? result.value : result.error.code;
};
console.log(JSON.stringify([Object.keys(recourse).sort(), typed.name, typed.inputSchema.required, await rolled(6), await rolled(1)]));
`;

/** What vitest runs. */
export const VITEST = `
import { createTester } from 'recourse-server/testing';
import { typed } from './dice.ts';
test('a tool file can be tested', async () => {
  const result = await createTester(typed).call('dice', { sides: 6 });
  expect([typed.name, typed.retries, result.value]).toEqual(['dice', 3, { rolled: 6 }]);
});
`;
