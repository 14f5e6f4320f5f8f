import { randomUUID } from 'node:crypto';
import { defineTool } from 'recourse-server';
import { PAYING, pay } from './bank-client.ts';

/** Sends the bank nothing by which it, or anybody, could find the payment again. */
export const payBlindly = defineTool({
  ...PAYING,
  name: 'pay',
  description: 'Pays.',
  run: ({ payment }, { signal }) => pay(payment, randomUUID(), signal),
});
