import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, describe as group, test } from 'vitest';
import {
  beginAndLeave,
  beginPayment,
  DID_NOT,
  decideHeld,
  describe,
  expectPaidOnce,
  HAPPENED,
  hostsOf,
  startLab,
  whenLookedFor,
} from './bank-lab.ts';

group.each(['memory', 'sqlite', 'redis'] as const)('on %s', (store) => {
  test('writes whose tool host is killed are found, or are run again, whichever step they had come to', {
    timeout: timeLimit(60_000),
  }, async () => {
    const { bank, start } = await startLab(store);
    const service = await start();
    const all = bank.planSteps();
    const [, , late, dropped] = all;
    const sent = await Promise.all(all.map((payment) => beginPayment(service, payment)));
    const dead = hostsOf(all);
    for (const pid of dead) process.kill(pid, 'SIGKILL');
    await decideHeld(late, dropped);
    const said = await Promise.all(sent.map(async ({ answer }) => describe(await answer)));
    expect(said).toEqual([DID_NOT, HAPPENED, HAPPENED, DID_NOT]);
    const lookers = all.flatMap((payment) => payment.lookers);
    expect(lookers.filter((pid) => dead.has(pid))).toEqual([]);
    // No check has paid, nor has anything else by itself.
    expect(all.map(({ asked }) => asked)).toEqual([0, 1, 1, 1]);
    await expectPaidOnce(service, all, [1, 1, 1, 2]);
  });

  test('writes whose answers are lost, whose time is over, or whose client has gone are found', {
    timeout: timeLimit(60_000),
  }, async () => {
    const { bank, start } = await startLab(store);
    const service = await start();
    const [before, after] = [bank.plan('cut_before'), bank.plan('cut_after')];
    const [later, overdue, never] = [bank.plan('cut_held'), bank.plan('held'), bank.plan('at_gate')];
    const all = [before, after, later, overdue, never];
    const sent = await Promise.all(all.map((payment) => beginPayment(service, payment)));
    const gone = bank.plan('held');
    await beginAndLeave(service, gone);
    await Promise.all([later, overdue].map((payment) => whenLookedFor(payment)));
    for (const payment of [later, overdue, gone]) payment.letGo('book');
    const said = await Promise.all(sent.map(async ({ answer }) => describe(await answer)));
    expect(said).toEqual([DID_NOT, HAPPENED, HAPPENED, HAPPENED, DID_NOT]);
    expect(never.asked).toBe(0);
    await expectPaidOnce(service, [...all, gone], [2, 1, 1, 1, 1, 1]);
  });
});
