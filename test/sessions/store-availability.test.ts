import { createManualClock, createStoreLog } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { beforeEach, expect, test } from 'vitest';
import { LateAnswerError, StoreAvailability, type StoreWatcher, type Urgency } from '#src/store/store-availability.ts';

const PATIENCE = { timeout: timeLimit(15_000), interval: 20 };

let checks: string[];
let log: ReturnType<typeof createStoreLog>;
let watcher: StoreWatcher;
let answerOfCheck: () => Promise<void>;
let clock: ReturnType<typeof createManualClock>;
let availability: StoreAvailability;

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });
const serve = async (): Promise<void> => undefined;
const fail = (error: Error) => () => Promise.reject(error);

beforeEach(() => {
  checks = [];
  log = createStoreLog();
  clock = createManualClock();
  answerOfCheck = fail(reply('NOPERM'));
  availability = new StoreAvailability({
    observer: log.observer,
    now: clock.now,
    watch: (other) => {
      watcher = other;
    },
    check: () => {
      checks.push('asked');
      return answerOfCheck();
    },
  });
});

/** Asks in vain. */
const miss = async (urgency: Urgency, error: Error): Promise<void> => {
  await expect(availability.ask('admit', urgency, fail(error))).rejects.toThrow(error.message);
};

/** Whether it is let ask. What it is answered says nothing of the store. */
const mayAsk = async (urgency: Urgency): Promise<boolean> => {
  let isAsked = false;
  const ask = async (): Promise<never> => {
    isAsked = true;
    throw reply('WRONGTYPE');
  };
  await Promise.resolve(availability.ask('read', urgency, ask)).catch(() => undefined);
  return isAsked;
};

const whoMayAsk = async (): Promise<readonly Urgency[]> => {
  const all = ['short', 'long', 'always', 'read'] as const;
  const may = await Promise.all(all.map(mayAsk));
  return all.filter((_urgency, at) => may[at]);
};

test('a store that refused when it was connected to is asked each second until it serves, and then no more', async () => {
  watcher.connected();
  await expect.poll(() => log.states, PATIENCE).toEqual(['down']);
  await expect.poll(() => checks.length, PATIENCE).toBe(2);
  answerOfCheck = serve;
  await expect.poll(availability.isUp, PATIENCE).toBe(true);
  expect(checks).toHaveLength(3);
  expect(log.failed).toEqual(['connect: NOPERM', 'connect: NOPERM']);
  expect(log.states).toEqual(['down', 'up']);
});

test('one late answer is no outage, two in a row are; those that were on their way together are one', async () => {
  const late = new LateAnswerError('Command timed out');
  const answer = Promise.withResolvers<void>();
  const asked = [1, 2, 3].map(async () => availability.ask('admit', 'short', () => answer.promise));
  clock.advance(1);
  answer.reject(late);
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(availability.isUp()).toBe(true);
  clock.advance(1);
  await miss('short', late);
  expect(await whoMayAsk()).toEqual(['long', 'always', 'read']);
  await miss('long', late);
  clock.advance(1);
  await miss('long', late);
  expect(await whoMayAsk()).toEqual(['always']);
  expect(log.states).toEqual(['down']);
});

test('an answer in time between two late ones makes them none in a row', async () => {
  const late = new LateAnswerError('Command timed out');
  for (let times = 0; times < 5; times += 1) {
    clock.advance(1);
    await miss('short', late);
    await availability.ask('admit', 'short', serve);
  }
  expect(availability.isUp()).toBe(true);
});

test('a server that takes no writes is still read from', async () => {
  await miss('short', reply('OOM command not allowed'));
  expect(await whoMayAsk()).toEqual(['always', 'read']);
});

test('a lost connection is no use to anyone, and what always asks brings the store back where it is answered', async () => {
  watcher.lost();
  expect(await whoMayAsk()).toEqual(['always']);
  expect(Date.parse(availability.awaySince() ?? '')).toBeGreaterThan(0);
  expect(await availability.ask('keyed', 'always', async () => 'kept')).toBe('kept');
  expect([availability.isUp(), availability.awaySince()]).toEqual([true, null]);
});

test('what Redis says of one command, and what is only read, says nothing of the store', async () => {
  await miss('short', reply('WRONGTYPE Operation against a key'));
  for (let times = 0; times < 3; times += 1) {
    clock.advance(1);
    await miss('read', new LateAnswerError('Command timed out'));
  }
  expect(availability.isUp()).toBe(true);
  watcher.lost();
  await availability.ask('read', 'read', serve)?.catch(() => undefined);
  expect(availability.isUp()).toBe(false);
});
