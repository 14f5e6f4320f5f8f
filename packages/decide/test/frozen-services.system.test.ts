import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import {
  beginPayment,
  bodyOf,
  countContradictions,
  DID_NOT,
  decideHeld,
  describe,
  expectPaidOnce,
  freeze,
  HAPPENED,
  hostsOf,
  lookUp,
  repeat,
  SETTLED_WITHIN_MS,
  startLab,
  whenSettled,
} from './bank-lab.ts';

// A replica that is stopped for longer than a lease is taken for dead. What it and its tool hosts do when they go on must fit what was
// said meanwhile, or be told.

const startTwo = async () => {
  const { bank, start } = await startLab('redis');
  const [frozen, other] = await Promise.all([start(), start()]);
  return { bank, frozen, other };
};

test('writes of a frozen replica are settled by the other one, and are what that has found when it goes on', {
  timeout: timeLimit(60_000),
}, async () => {
  const { bank, frozen, other } = await startTwo();
  const all = bank.planSteps();
  const [gate, , late, dropped] = all;
  const sent = await Promise.all(all.map((payment) => beginPayment(frozen, payment)));
  await freeze(frozen.running.pid);
  await decideHeld(late, dropped);
  const verdicts = await Promise.all(all.map((payment) => whenSettled(other, payment)));
  expect(verdicts).toEqual(['did_not_happen', 'happened', 'happened', 'did_not_happen']);
  // Its host has ended by itself: what the bank lets go on is not there any more.
  gate.letGo('book');
  frozen.running.send('SIGCONT', 'service');
  const said = await Promise.all(sent.map(async ({ answer }) => describe(await answer)));
  expect(said).toEqual([DID_NOT, HAPPENED, HAPPENED, DID_NOT]);
  expect(all.map(({ asked }) => asked)).toEqual([0, 1, 1, 1]);
  await expectPaidOnce(other, all, [1, 1, 1, 2]);
  expect(await Promise.all([frozen, other].map(countContradictions))).toEqual([0, 0]);
});

test('writes whose hosts are frozen with their service do not take effect when they go on after it was said that they did not', {
  timeout: timeLimit(60_000),
}, async () => {
  const { bank, frozen, other } = await startTwo();
  const repeated = bank.plan('at_gate');
  const all = [bank.plan('at_gate'), repeated];
  const sent = await Promise.all(all.map((payment) => beginPayment(frozen, payment)));
  const hosts = hostsOf(all);
  await Promise.all([frozen.running.pid, ...hosts].map(freeze));
  const verdicts = await Promise.all(all.map((payment) => whenSettled(other, payment)));
  expect(verdicts).toEqual(['did_not_happen', 'did_not_happen']);
  for (const payment of all) payment.letGo('book');
  expect(await repeat(other, repeated)).toBe('success yes');
  for (const pid of hosts) process.kill(pid, 'SIGCONT');
  frozen.running.send('SIGCONT', 'service');
  const said = await Promise.all(sent.map(async ({ answer }) => describe(await answer)));
  expect(said[0]).toBe(DID_NOT);
  expect(all.map(({ asked }) => asked)).toEqual([0, 1]);
  await expectPaidOnce(frozen, all, [1, 1]);
});

test('a write of a frozen replica that a wrong check has ruled out is told as a contradiction, and is in the ledger once', {
  timeout: timeLimit(60_000),
}, async () => {
  const { bank, frozen, other } = await startTwo();
  const all = [bank.plan('booked', 'nothing'), bank.plan('booked', 'nothing')] as const;
  const [left, repeated] = all;
  const sent = await Promise.all(all.map((payment) => beginPayment(frozen, payment)));
  await freeze(frozen.running.pid);
  // Its host hears of it, and its service does not hear of that.
  for (const payment of all) payment.letGo('book');
  const verdicts = await Promise.all(all.map((payment) => whenSettled(other, payment)));
  expect(verdicts).toEqual(['did_not_happen', 'did_not_happen']);
  expect(await repeat(other, repeated)).toBe('success yes');
  frozen.running.send('SIGCONT', 'service');
  await expect.poll(() => countContradictions(frozen), { timeout: SETTLED_WITHIN_MS }).toBe(2);
  const said = await Promise.all(sent.map(async ({ answer }) => describe(await answer)));
  // By what it hears of first when it goes on: its host, or the verdict.
  for (const end of said) expect(end).toBeOneOf([DID_NOT, 'success yes', 'success yes reconciled']);
  const ask = async () => describe(await lookUp(other, (await sent[0]?.answer) ?? null));
  await expect.poll(ask, { timeout: SETTLED_WITHIN_MS }).toMatch(/^success yes/);
  expect(left.asked).toBe(1);
  await expectPaidOnce(other, all, [1, 2]);
});

test('a pending write of a frozen worker ends as the ledger says when that goes on, also where a wrong check has ruled it out', {
  timeout: timeLimit(60_000),
}, async () => {
  const { bank, start, environment } = await startLab('redis');
  const api = await start({ ROLE: 'api' });
  const frozen = await startWorkerProcess({ by: 'node', environment });
  const all = [bank.plan('booked'), bank.plan('booked', 'nothing')];
  const client = createPendingClient(api.url);
  const begun = await Promise.all(all.map((payment) => client.begin(bodyOf(payment))));
  await Promise.all(all.map(({ reached }) => reached.promise));
  await freeze(frozen.pid);
  for (const payment of all) payment.letGo('book');
  await startWorkerProcess({ by: 'node', environment });
  const ends = async () =>
    Promise.all(begun.map(async ({ requestId }) => describe(await client.ask(`/tool-calls/${requestId}`))));
  await expect.poll(ends, { timeout: SETTLED_WITHIN_MS }).toEqual([HAPPENED, DID_NOT]);
  frozen.send('SIGCONT', 'service');
  await frozen.logged('a write ended otherwise than its reconcile had said');
  await expect.poll(ends, { timeout: SETTLED_WITHIN_MS }).toEqual([HAPPENED, expect.stringMatching(/^success yes/)]);
  expect(all.map(({ asked, booked }) => [asked, booked])).toEqual([
    [1, 1],
    [1, 1],
  ]);
});
