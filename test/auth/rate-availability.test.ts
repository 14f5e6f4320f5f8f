import { expect, test } from 'vitest';
import { createManualClock } from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';
import { becomeShared, countLetIn, createSubject, freshCaller, type Lab, startLab } from './rate-lab.ts';

// Rates and sessions ask one Redis: what one of them finds out, the other knows.

const RECOVERY = { timeout: timeLimit(20_000), interval: 50 };

/** A lab whose clock stands, where Redis counts. `comeBack` lets seconds pass and asks, until it serves again. */
const startStanding = async () => {
  const clock = createManualClock();
  const lab = await startLab(500, clock.now);
  await becomeShared(lab);
  const isBack = async (ask: () => Promise<unknown>): Promise<boolean> => {
    clock.advance(1000);
    await ask();
    return lab.availability.isUp();
  };
  const comeBack = (ask: () => Promise<unknown>): Promise<void> => expect.poll(() => isBack(ask), RECOVERY).toBe(true);
  /** Redis is silent, and two answers in a row have not come. */
  const goSilent = async (ask: () => Promise<unknown>): Promise<void> => {
    lab.server.pause();
    await ask();
    await ask();
  };
  return { ...lab, clock, comeBack, goSilent, count: () => countLetIn(lab.limit, freshCaller(1), 1) };
};

test('an outage that a rate meets first is noticed for all, and a session does not wait for it', async () => {
  const { goSilent, count, admit, asked, availability, failed, states } = await startStanding();
  const before = asked();
  await goSilent(count);
  expect(availability.isUp()).toBe(false);
  expect(await admit()).toEqual({ kind: 'away' });
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

test('while Redis is silent one asker a second waits for it, be it a rate or a session', async () => {
  const { goSilent, limit, admit, clock, asked, states } = await startStanding();
  await goSilent(admit);
  const before = asked();
  const askAll = async (): Promise<number> => {
    await Promise.all([countLetIn(limit, freshCaller(20), 20), admit(), admit()]);
    await admit();
    return asked() - before;
  };
  expect(await askAll()).toBe(0);
  clock.advance(999);
  expect(await askAll()).toBe(0);
  for (const probes of [1, 2, 3]) {
    clock.advance(1000);
    expect(await askAll()).toBe(probes);
    expect(await askAll()).toBe(probes);
  }
  expect(states).toEqual(['down']);
});

test('a rate that Redis counts again says for all that it is back', async () => {
  const { server, goSilent, admit, count, comeBack, errors, states } = await startStanding();
  await goSilent(admit);
  server.resume();
  await comeBack(count);
  expect(states).toEqual(['down', 'up']);
  const before = errors.length;
  expect(await count()).toBe(1);
  expect(errors).toHaveLength(before);
  expect(await admit()).toMatchObject({ kind: 'answered' });
});

const REFUSALS: readonly (readonly [name: string, begin: (lab: Lab) => Promise<unknown>])[] = [
  ['out of memory', ({ direct }) => direct.config('SET', 'maxmemory', '1')],
  ['without the right to scripts', ({ direct }) => direct.acl('SETUSER', 'default', '-eval')],
  ['without the right to count', ({ direct }) => direct.acl('SETUSER', 'default', '-incrby')],
  ['without the right to the keys', ({ direct }) => direct.acl('SETUSER', 'default', 'resetkeys', '~other:*')],
];

test.each(REFUSALS)('Redis %s refuses to count and is not away: it is asked once a second', async (_name, begin) => {
  const lab = await startStanding();
  await begin(lab);
  const before = lab.asked();
  for (const second of [1, 2, 3]) {
    for (let request = 0; request < 5; request += 1) await lab.count();
    expect(lab.asked() - before).toBe(second);
    lab.clock.advance(1000);
  }
  expect(lab.errors).toHaveLength(15);
  expect([lab.availability.isUp(), lab.states, lab.failed]).toEqual([true, [], []]);
});

test('a rate that Redis refuses to count brings no store back, and leaves it to the session that comes next', async () => {
  const { server, direct, goSilent, admit, count, clock, asked, availability, states } = await startStanding();
  await direct.acl('SETUSER', 'default', '-eval');
  await goSilent(admit);
  server.resume();
  await direct.ping();
  clock.advance(1000);
  const before = asked();
  await count();
  expect([asked() - before, availability.isUp()]).toEqual([1, false]);
  expect(await admit()).toMatchObject({ kind: 'answered' });
  expect(availability.isUp()).toBe(true);
  expect(states).toEqual(['down', 'up']);
});

test.each([
  ['Too many Cluster redirections. Last error: ReplyError: MOVED 1 127.0.0.1:7000', true],
  ['Command timed out', false],
  ['Connection is closed.', false],
  ["Stream isn't writeable and enableOfflineQueue options is false", false],
])('the client says "%s": the store is there: %s', async (message, isUp) => {
  const lost = createSubject({ client: { call: () => Promise.reject(new Error(message)) } });
  expect(await countLetIn(lost.limit, freshCaller(5), 10)).toBe(5);
  expect(lost.availability.isUp()).toBe(isUp);
  expect(lost.errors).toHaveLength(10);
});
