import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';

/** Markup, a script address, and characters that turn text around: what a model or a page it read may send. */
export const HOSTILE =
  '<img src=x onerror=alert(1)><script>alert(2)</script> javascript:alert(3) \u202egnp.exe\u2066 \u0007';
/** The same as the console shows it. */
export const HOSTILE_SHOWN =
  '<img src=x onerror=alert(1)><script>alert(2)</script> javascript:alert(3) \\u{202e}gnp.exe\\u{2066} \\u{7}';

const Order = z.object({
  title: z.string().describe('What it is called.'),
  copies: z.int().min(1).max(9).describe('How many.'),
  price: z.number().optional(),
  urgent: z.boolean().optional(),
  size: z.enum(['small', 'large']).default('small'),
  tags: z.array(z.string()).optional(),
  address: z.object({ street: z.string(), number: z.int().optional() }),
  lines: z.array(z.object({ item: z.string(), count: z.int() })).optional(),
  extra: z.record(z.string(), z.unknown()).optional(),
  reference: z.union([z.string(), z.number()]).optional(),
});

const readOrder = defineTool({
  name: 'read_order',
  description: 'Gives back what it was asked, to see what arrived.',
  input: Order,
  effects: 'read',
  maxCallsPerSession: 50,
  concurrency: 4,
  run: (order) => order,
});

const placeOrder = (placed: string[]): Tool =>
  defineTool({
    name: 'place_order',
    description: 'Places an order.\nIt cannot be taken back.',
    input: z.object({ title: z.string() }),
    effects: 'write',
    run: ({ title }) => {
      placed.push(title);
      return { placed: placed.length };
    },
  });

const failing = defineTool({
  name: 'find_order',
  description: 'Looks for an order by its number.',
  input: z.object({ number: z.string() }),
  effects: 'read',
  run: ({ number }) => {
    throw new RetryableToolError(`There is no order '${number}'.`, { hint: 'Numbers look like A-1042.' });
  },
});

const hostile = defineTool({
  name: 'hostile',
  description: HOSTILE,
  input: z.object({
    [HOSTILE]: z.string().describe(HOSTILE).optional(),
    mode: z.enum(['text', 'fail', 'long', 'deep']),
  }),
  effects: 'read',
  source: HOSTILE,
  run: ({ mode }) => {
    if (mode === 'fail') throw new RetryableToolError(HOSTILE, { hint: HOSTILE });
    if (mode === 'long') return { text: 'y'.repeat(900_000) };
    return mode === 'deep' ? toDeep(500) : { [HOSTILE]: HOSTILE, ['__proto__']: 1 };
  },
});

const toDeep = (levels: number): unknown => {
  let deep: unknown = 'bottom';
  for (let level = 0; level < levels; level += 1) deep = [deep];
  return deep;
};

/** Tools for the console to show; `placed` collects what the write tool was given. */
export const createConsoleTools = (placed: string[] = []): readonly Tool[] => [
  readOrder,
  placeOrder(placed),
  failing,
  hostile,
];
