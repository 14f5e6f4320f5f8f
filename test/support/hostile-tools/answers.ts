import { defineTool, empty, ok, RetryableToolError, TerminalToolError, UpstreamToolError, z } from 'recourse-server';

const Size = z.object({ bytes: z.int() });

const sized = (name: string, effects: 'read' | 'write') =>
  defineTool({
    name,
    description: 'Returns a text that takes this many bytes as JSON.',
    effects,
    input: Size,
    run: ({ bytes }) => 'x'.repeat(bytes - 2),
  });

const throwing = (name: string, make: () => Error, effects: 'read' | 'write' = 'read') =>
  defineTool({
    name,
    description: 'Tells the model what is wrong.',
    effects,
    input: z.object({}),
    run: () => {
      throw make();
    },
  });

const wrong = () =>
  new RetryableToolError('There is no such row.', {
    hint: 'Ask for rows 1 to 9.',
    retryAfterMs: 50,
    value: { rows: 9 },
  });

export const tools = [
  sized('sized', 'read'),
  sized('sized_write', 'write'),
  defineTool({
    name: 'measures',
    description: 'Says how long its argument is.',
    effects: 'read',
    input: z.object({ text: z.string() }),
    run: ({ text }) => text.length,
  }),
  defineTool({
    name: 'strict_about_rows',
    description: 'Has a schema with several members.',
    effects: 'read',
    input: z.object({ row: z.int().positive(), side: z.enum(['left', 'right']) }),
    run: ({ row }) => row,
  }),
  defineTool({
    name: 'breaks_its_word',
    description: 'Returns something else than its schema says.',
    effects: 'read',
    input: z.object({}),
    output: z.object({ row: z.int() }),
    // @ts-expect-error: what the compiler tells an author who has one.
    run: () => ({ row: 'seven' }),
  }),
  defineTool({
    name: 'tells_and_returns',
    description: 'Has a text beside its value.',
    effects: 'read',
    input: z.object({}),
    run: () => ok({ row: 7 }, 'Row 7.'),
  }),
  defineTool({
    name: 'finds_nothing',
    description: 'Has nothing to return.',
    effects: 'read',
    input: z.object({}),
    run: () => empty('No rows.', []),
  }),
  defineTool({
    name: 'refine_throws_there',
    description: 'Has a schema that throws.',
    effects: 'read',
    input: z.looseObject({}).refine(() => {
      throw new Error('the rate table is not loaded');
    }),
    run: () => 'ran',
  }),
  throwing('asks_again', wrong),
  throwing('asks_again_write', wrong, 'write'),
  throwing('gives_up', () => new TerminalToolError('The archive is closed.', { hint: 'Use another one.' })),
  throwing(
    'upstream_is_slow',
    () => new UpstreamToolError('upstream_rate_limited', 'Too many.', { executed: 'no', retryAfterMs: 9000 }),
  ),
];
