// Tools that a configuration file keeps in bounds: a refund needs a fraud check of its order, its session may give back 500 at
// most, and of more than 100 a person decides. The shop is a file here; of a real one each is a request.
import { appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, z } from 'recourse-server';

const Order = z.string().regex(/^o-\d{1,6}$/);

export const fraudCheck = defineTool({
  name: 'fraud_check',
  description: 'Judges whether an order looks like fraud. Returns a score from 0 to 1.',
  effects: 'read',
  input: z.object({ order_id: Order }),
  run: () => ({ score: 0.1 }),
});

// A refund is a line. A variable would end with its process.
const LEDGER = join(tmpdir(), 'recourse-refunds.jsonl');

export const refund = defineTool({
  name: 'refund',
  description: 'Gives money back for an order.',
  effects: 'write',
  input: z.object({ order_id: Order, amount: z.number().positive() }),
  run: ({ order_id, amount }, { effectId }) => {
    appendFileSync(LEDGER, `${JSON.stringify({ reference: effectId, order_id, amount })}\n`);
    return { reference: effectId };
  },
});
