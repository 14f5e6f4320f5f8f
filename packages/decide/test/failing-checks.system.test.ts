import { existsSync } from 'node:fs';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, describe as group, test } from 'vitest';
import {
  beginPayment,
  countFailedLooks,
  describe,
  expectPaidOnce,
  HAPPENED,
  lookUp,
  SETTLED_WITHIN_MS,
  startLab,
  whenLookedFor,
} from './bank-lab.ts';

group.each(['memory', 'sqlite', 'redis'] as const)('on %s', (store) => {
  test('a check that throws, hangs or returns nonsense settles nothing, and one that lies books nothing twice', {
    timeout: timeLimit(60_000),
  }, async () => {
    const { bank, start } = await startLab(store);
    const service = await start();
    const all = [
      bank.plan('cut_after', 'throw'),
      bank.plan('cut_after', 'nonsense'),
      bank.plan('cut_after', 'hang'),
    ] as const;
    // Its tool host is there.
    await beginPayment(service, bank.plan('book'));
    for (const payment of all) payment.deadlineMs = timeLimit(1500);
    const sent = await Promise.all(all.map((payment) => beginPayment(service, payment)));
    const answers = await Promise.all(sent.map(({ answer }) => answer));
    expect(answers.map(describe)).toEqual(['unknown maybe', 'unknown maybe', 'unknown maybe']);
    await Promise.all(all.map((payment) => whenLookedFor(payment, 2)));
    const [first = 0] = all[2].lookers;
    // Its process is ended, and the next look has another one.
    expect(existsSync(`/proc/${first}`)).toBe(false);
    expect(await countFailedLooks(service)).toBeGreaterThanOrEqual(3);
    expect(all.map(({ asked }) => asked)).toEqual([1, 1, 1]);
    for (const payment of all) payment.word = 'truth';
    const ask = () => Promise.all(answers.map(async (answer) => describe(await lookUp(service, answer))));
    await expect.poll(ask, { timeout: SETTLED_WITHIN_MS }).toEqual([HAPPENED, HAPPENED, HAPPENED]);
    // One that says of a write in the ledger that it did not happen has it run again: the bank knows its effect id.
    const lied = bank.plan('cut_after', 'nothing');
    await beginPayment(service, lied);
    await expectPaidOnce(service, [...all, lied], [1, 1, 1, 2]);
  });
});
