import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { becomeShared, countLetIn, freshCaller, startLab } from './rate-lab.ts';

// Rates and sessions ask one Redis: what one of them finds out, the other knows.

const RECOVERY = { timeout: timeLimit(20_000), interval: 50 };

/** A lab whose clock stands, where Redis counts. */
const startStanding = async () => {
  const clock = createManualClock();
  const lab = await startLab(500, clock.now);
  await becomeShared(lab);
  /** Redis is silent, and two answers in a row have not come. */
  const goSilent = async (ask: () => Promise<unknown>): Promise<void> => {
    lab.server.pause();
    for (let times = 0; times < 2; times += 1) await ask().catch(() => undefined);
  };
  return { ...lab, clock, goSilent, count: () => countLetIn(lab.limit, freshCaller(1), 1) };
};

test('an outage that a rate meets first is noticed for all, and a session does not wait for it', async () => {
  const { goSilent, count, admit, asked, availability, failed, states } = await startStanding();
  const before = asked();
  await goSilent(count);
  expect(availability.isUp()).toBe(false);
  await expect(admit()).rejects.toThrow('The store is unavailable.');
  expect(asked() - before).toBe(2);
  expect([failed, states]).toEqual([['rate: Command timed out', 'rate: Command timed out'], ['down']]);
});

test('an outage that a session meets first is not asked about by rates, and each is counted as an error', async () => {
  const { goSilent, limit, admit, asked, errors, failed } = await startStanding();
  await goSilent(admit);
  const before = asked();
  expect(await countLetIn(limit, freshCaller(5), 10)).toBe(5);
  expect(asked()).toBe(before);
  expect(errors).toHaveLength(10);
  expect(failed).toEqual(['admit: Command timed out', 'admit: Command timed out']);
});

test('when Redis is back rates are counted in it again', async () => {
  const { server, goSilent, admit, count, availability, errors, states } = await startStanding();
  await goSilent(admit);
  server.resume();
  await expect.poll(availability.isUp, RECOVERY).toBe(true);
  expect(states).toEqual(['down', 'up']);
  const before = errors.length;
  expect(await count()).toBe(1);
  expect(errors).toHaveLength(before);
});

test('a full Redis counts nothing, and is not asked', async () => {
  const { direct, count, asked, availability, errors } = await startStanding();
  await direct.config('SET', 'maxmemory', '1');
  await count();
  expect(availability.isUp()).toBe(false);
  const before = asked();
  for (let request = 0; request < 5; request += 1) expect(await count()).toBe(1);
  expect([asked() - before, errors.length]).toEqual([0, 6]);
  await direct.config('SET', 'maxmemory', '0');
  await expect.poll(availability.isUp, RECOVERY).toBe(true);
});
