import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, describe as group, test } from 'vitest';
import {
  beginPayment,
  bodyOf,
  DID_NOT,
  decideHeld,
  describe,
  expectPaidOnce,
  HAPPENED,
  keyOf,
  repeat,
  SETTLED_WITHIN_MS,
  startLab,
  whenSettled,
} from './bank-lab.ts';

group.each(['sqlite', 'redis'] as const)('on %s', (store) => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'writes whose service gets a %s at any step are settled by another process, which nobody asks',
    {
      timeout: timeLimit(60_000),
    },
    async (signal) => {
      const { bank, start } = await startLab(store);
      const victim = await start({ SHUTDOWN_GRACE_MS: '200' });
      const other = store === 'redis' ? await start() : null;
      const all = bank.planSteps();
      const [, , late, dropped] = all;
      const repeated = bank.plan('booked');
      const sent = await Promise.all([...all, repeated].map((payment) => beginPayment(victim, payment)));
      victim.running.send(signal, 'service');
      const said = await Promise.all(sent.map(async ({ answer }) => describe(await answer)));
      expect(new Set(said)).toEqual(new Set([signal === 'SIGKILL' ? 'no answer' : 'unknown maybe']));
      await victim.running.exited;
      const survivor = other ?? (await start());
      // Its agent does not wait.
      const again = repeat(survivor, repeated);
      await decideHeld(late, dropped);
      const verdicts = await Promise.all(all.map((payment) => whenSettled(survivor, payment)));
      expect(verdicts).toEqual(['did_not_happen', 'happened', 'happened', 'did_not_happen']);
      expect(await again).toBe(HAPPENED);
      expect([...all, repeated].map(({ asked }) => asked)).toEqual([0, 1, 1, 1, 1]);
      await expectPaidOnce(survivor, [...all, repeated], [1, 1, 1, 2, 1]);
    },
  );
});

test('pending writes whose worker is killed at any step end as the ledger says, also under their keys', {
  timeout: timeLimit(60_000),
}, async () => {
  const { bank, start, environment } = await startLab('redis');
  const api = await start({ ROLE: 'api' });
  const client = createPendingClient(api.url);
  const all = bank.planSteps();
  const [, , late, dropped] = all;
  // Before they are accepted: the time that a pending call has runs from then on.
  const victim = await startWorkerProcess({ by: 'node', environment });
  const begun = await Promise.all(all.map((payment) => client.begin(bodyOf(payment), { headers: keyOf(payment) })));
  await Promise.all(all.map(({ reached }) => reached.promise));
  victim.send('SIGKILL', 'service');
  await victim.exited;
  await startWorkerProcess({ by: 'node', environment });
  await decideHeld(late, dropped);
  const ends = async () =>
    Promise.all(begun.map(async ({ requestId }) => describe(await client.ask(`/tool-calls/${requestId}`))));
  await expect.poll(ends, { timeout: SETTLED_WITHIN_MS }).toEqual([DID_NOT, HAPPENED, HAPPENED, DID_NOT]);
  expect(all.map(({ asked }) => asked)).toEqual([0, 1, 1, 1]);
  // A call that has ended is made again by a call of its own: its key does not run it.
  const again = all.map(async (payment) => describe(await api.post(bodyOf(payment), { key: payment.mark })));
  expect(await Promise.all(again)).toEqual([DID_NOT, HAPPENED, HAPPENED, DID_NOT]);
  expect(all.map(({ booked }) => booked)).toEqual([0, 1, 1, 0]);
});
