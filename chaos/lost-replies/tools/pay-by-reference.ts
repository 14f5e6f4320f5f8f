import { defineTool, didNotHappen, happened, unclear } from 'recourse-server';
import { findPayment, PAYING, pay } from './bank-client.ts';

const SOON_MS = 200;

/** Sends its effect id as the reference of the payment, and looks for that. */
export const payByReference = defineTool({
  ...PAYING,
  name: 'pay_by_reference',
  description: 'Pays.',
  run: ({ payment }, { effectId, signal }) => pay(payment, effectId, signal),
  reconcile: async ({ effectId }, { signal }) => {
    const state = await findPayment(effectId, signal);
    if (state === 'booked') return happened({ reference: effectId });
    return state === 'none' ? didNotHappen() : unclear({ retryAfterMs: SOON_MS });
  },
});
