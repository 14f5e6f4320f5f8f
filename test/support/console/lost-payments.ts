import { didNotHappen, happened, unclear } from '#src/tools/tool-values.ts';
import { type Actor, createActor } from '../keyed-client.ts';

/** The tool `pay`: it pays and loses the answer, while `isLost`; and cannot tell whether it has paid, while `isUnclear`. */
export const createLostPayments = (): Pick<Actor, 'tool'> & {
  isLost: boolean;
  isUnclear: boolean;
  readonly payments: Map<string, unknown>;
} => {
  const payments = new Map<string, unknown>();
  const { tool } = createActor(
    'pay',
    {
      effects: 'write',
      reconcile: ({ effectId }) => {
        if (bank.isUnclear) return unclear();
        return payments.has(effectId) ? happened({ paid: payments.get(effectId) }) : didNotHappen();
      },
    },
    ({ amount }, { effectId }) => {
      payments.set(effectId, amount);
      if (bank.isLost) throw new Error('The connection was lost.');
      return { paid: amount };
    },
  );
  const bank = { tool, isLost: true, isUnclear: true, payments };
  return bank;
};

/** Looks come late: until then a test has the outcome to itself. `deadline_ms` ends those beside the batch. */
export const QUIET = { RECONCILE_DELAYS: '1h' };

/** A batch with one payment. */
export const toPayment = (amount: unknown) => ({
  deadline_ms: 300,
  calls: [{ id: 'p', name: 'pay', arguments: { amount } }],
});
