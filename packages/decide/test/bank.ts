import { createActor } from '@recourse/test-support/keyed-client.ts';
import { didNotHappen, happened, unclear } from 'recourse-server';

/** A payment that the bank has in its ledger. */
type Payment = { readonly reference: string; readonly amount: unknown };

/** A bank with a ledger, and the tool that pays by it. A test says where a payment is cut, and whether a look can tell. */
export const createBank = (
  first: { cut?: 'never' | 'before' | 'after'; unclear?: boolean } = {},
  rest: Pick<NonNullable<Parameters<typeof createActor>[1]>, 'background' | 'maxDurationMs'> = {},
) => {
  const payments: Payment[] = [];
  const effectIds: string[] = [];
  const sought: string[] = [];
  const bank = { cut: 'never', unclear: false, ...first, payments, effectIds, sought };
  const cut = (at: string): void => {
    if (bank.cut === at) throw new Error('The connection was lost.');
  };
  const { tool } = createActor(
    'pay',
    {
      ...rest,
      effects: 'write',
      reconcile: ({ effectId }) => {
        sought.push(effectId);
        const payment = payments.find(({ reference }) => reference === effectId);
        if (bank.unclear) return unclear();
        return payment === undefined ? didNotHappen() : happened({ amount: payment.amount });
      },
    },
    ({ amount }, { effectId }) => {
      effectIds.push(effectId);
      cut('before');
      // The bank knows what it has been asked before.
      if (!payments.some(({ reference }) => reference === effectId)) payments.push({ reference: effectId, amount });
      cut('after');
      return { amount };
    },
  );
  return Object.assign(bank, { pay: { tool } });
};
