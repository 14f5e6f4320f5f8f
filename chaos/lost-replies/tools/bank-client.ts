import { z } from 'recourse-server';

/** What all three tools have in common. The limit is that of `TOOL_TIMEOUT_MS` in ../cuts.ts. */
export const PAYING = {
  effects: 'write',
  background: 'optional',
  timeoutMs: 1500,
  maxDurationMs: 5000,
  input: z.object({ payment: z.string(), amount: z.int() }),
} as const;

const BANK = process.env['BANK_URL'] ?? '';
const State = z.object({ state: z.enum(['accepted', 'booked', 'dropped', 'none']) });

const ask = async (path: string, init: RequestInit) => {
  const answer = await fetch(`${BANK}${path}`, init);
  if (!answer.ok) throw new Error(`The bank answered ${answer.status}.`);
  return State.parse(await answer.json()).state;
};

/** Has the bank book a payment under this reference. It is told this process, which is killed where that is the cut. */
export const pay = async (payment: string, reference: string, signal: AbortSignal) => {
  const body = JSON.stringify({ payment, reference, host: process.pid });
  await ask('/payments', { method: 'POST', body, signal });
  return { reference };
};

/** What the bank has under this reference. */
export const findPayment = (reference: string, signal: AbortSignal) => ask(`/payments/${reference}`, { signal });
