// A payment that is settled although its answer is lost: its reference at the bank is the effect id of the call, and a later look
// finds it by that. The bank is a file here; of a real one `book` and `find` are two requests.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, didNotHappen, happened, z } from 'recourse-server';

const Payment = z.object({ reference: z.string(), payee: z.string(), amount: z.number() });
type Payment = z.infer<typeof Payment>;

export type Bank = {
  /** Books once for a reference, however often it is asked. */
  readonly book: (payment: Payment) => void;
  readonly find: (reference: string) => Payment | undefined;
};

/** Ends this process as a power cut does: nothing runs after it, and nobody is told anything. */
const die = (): void => void process.kill(process.pid, 'SIGKILL');

export const createSendPayment = (bank: Bank) =>
  defineTool({
    name: 'send_payment',
    description: 'Sends money to a payee.',
    effects: 'write',
    isolation: 'own', // it moves money: no other file runs in its processes
    input: z.object({
      payee: z.string().min(1).max(100),
      amount: z.number().positive(),
      // For whoever tries this example: when the process dies.
      accident: z.enum(['none', 'before_booking', 'after_booking']).default('none'),
    }),
    output: Payment,
    run: ({ payee, amount, accident }, { effectId }) => {
      if (accident === 'before_booking') die();
      const payment = { reference: effectId, payee, amount };
      bank.book(payment);
      if (accident === 'after_booking') die();
      return payment;
    },
    reconcile: ({ effectId }) => {
      const payment = bank.find(effectId);
      // This bank books at once or never. Of one that may book later this would be `unclear()`.
      if (payment === undefined) return didNotHappen('The bank has no such payment.');
      return happened(payment, `${payment.amount} was paid to ${payment.payee}, reference ${payment.reference}.`);
    },
  });

// A payment is a line. A variable would end with its process.
const LEDGER = join(tmpdir(), 'recourse-ledger.jsonl');

const readLedger = (): readonly Payment[] =>
  (existsSync(LEDGER) ? readFileSync(LEDGER, 'utf8') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Payment.parse(JSON.parse(line)));

const find: Bank['find'] = (reference) => readLedger().find((payment) => payment.reference === reference);

export const sendPayment = createSendPayment({
  find,
  book: (payment) => {
    if (find(payment.reference) === undefined) appendFileSync(LEDGER, `${JSON.stringify(payment)}\n`);
  },
});
