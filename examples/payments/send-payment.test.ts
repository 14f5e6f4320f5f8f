import { createTester } from 'recourse-server/testing';
import { expect, test } from 'vitest';
import { type Bank, createSendPayment } from './send-payment.ts';

const createBank = () => {
  const payments = new Map<string, ReturnType<Bank['find']>>();
  const book: Bank['book'] = (payment) => void payments.set(payment.reference, payment);
  return { payments, book, find: payments.get.bind(payments) };
};

test('a payment whose answer is lost is found, and made once', async () => {
  const bank = createBank();
  const tester = createTester(createSendPayment(bank));
  const lost = await tester.call('send_payment', { payee: 'ACME', amount: 120 }, { lose: 'answer' });
  expect(lost).toMatchObject({ success: true, value: { amount: 120 }, reconciled: { by: 'tool' } });
  expect(bank.payments.size).toBe(1);
});

test('a payment whose process dies before it is sent may be made again', async () => {
  const tester = createTester(createSendPayment(createBank()));
  const lost = await tester.call('send_payment', { payee: 'ACME', amount: 120 }, { lose: 'run' });
  expect(lost).toMatchObject({ outcome: 'retry', executed: 'no', reconciled: { by: 'tool' } });
});

test('while the bank does not answer nothing is claimed', async () => {
  const find = () => {
    throw new Error('503');
  };
  const tester = createTester(createSendPayment({ ...createBank(), find }));
  const found = await tester.reconcile('send_payment', { payee: 'ACME', amount: 120 }, { effectId: 'e_1' });
  expect(found).toMatchObject({ verdict: 'unclear', problem: 'Error: 503' });
});
