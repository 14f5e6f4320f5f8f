import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { empty } from '#src/tools/tool-values.ts';

export type RuntimeTools = {
  readonly tools: readonly Tool[];
  /** Every amount that `charge_card` was run with, in order. */
  readonly charges: () => readonly number[];
  readonly clear: () => void;
};

/** Tools that answer, fail, find nothing, and whose names and schemas not every provider takes as they are. */
export const createRuntimeTools = (): RuntimeTools => {
  const charges: number[] = [];
  return {
    tools: [ADD, SEARCH_ORDERS, READ_CELL, NOTE, CLOSE_LEDGER, toChargeCard(charges)],
    charges: () => charges,
    clear: () => void charges.splice(0),
  };
};

// A dot, which OpenAI and Anthropic refuse in a name.
const ADD = defineTool({
  name: 'math.add',
  description: 'Adds two numbers.',
  input: z.object({ x: z.number(), y: z.number() }),
  effects: 'read',
  run: ({ x, y }) => x + y,
});

const SEARCH_ORDERS = defineTool({
  name: 'search_orders',
  description: 'Finds orders by a word.',
  input: z.object({
    query: z.string().min(1),
    limit: z.number().int().min(1).default(10),
    status: z.enum(['open', 'closed']).optional(),
  }),
  effects: 'read',
  run: ({ query }) => empty(`No order matches '${query}'.`, []),
});

// The empty text, which Anthropic refuses as a text block.
const READ_CELL = defineTool({
  name: 'read_cell',
  description: 'Reads a cell of the sheet.',
  input: z.object({ cell: z.string().regex(/^[A-Z]+[0-9]+$/) }),
  effects: 'read',
  run: () => '',
});

// A map and a union: what strict modes and Gemini's schemas cannot say.
const NOTE = defineTool({
  name: 'note',
  description: 'Keeps a note.',
  input: z.object({ labels: z.record(z.string(), z.string()), body: z.union([z.string(), z.array(z.string())]) }),
  effects: 'write',
  run: () => null,
});

const CLOSE_LEDGER = defineTool({
  name: 'close_ledger',
  description: 'Closes the ledger.',
  input: z.object({ year: z.number().int() }),
  effects: 'read',
  gracefulErrors: false,
  run: ({ year }) => {
    throw new Error(`the ledger of ${year} is damaged`);
  },
});

const toChargeCard = (charges: number[]): Tool =>
  defineTool({
    name: 'charge_card',
    description: 'Charges a card.',
    input: z.object({ amount: z.number() }),
    effects: 'idempotent',
    retries: 1,
    run: ({ amount }) => {
      charges.push(amount);
      throw new Error('the card was declined');
    },
  });
