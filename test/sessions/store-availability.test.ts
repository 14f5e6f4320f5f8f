import { beforeEach, expect, test } from 'vitest';
import { createStoreAvailability, type StoreAvailability } from '#src/sessions/store-availability.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const PATIENCE = { timeout: timeLimit(15_000), interval: 20 };

let checks: string[];
let states: string[];
let refuse: (error: unknown) => void;
let isServing: boolean;
let availability: StoreAvailability;

beforeEach(() => {
  checks = [];
  states = [];
  isServing = false;
  availability = createStoreAvailability({
    observer: {
      operationEnded: () => undefined,
      operationFailed: (operation) => void states.push(`failed: ${operation}`),
      availabilityChanged: (state) => void states.push(state),
    },
    now: () => performance.now(),
    onRecovered: () => undefined,
    store: {
      watch: ({ refused }) => {
        refuse = refused;
      },
      check: async () => {
        checks.push(isServing ? 'served' : 'refused');
        if (!isServing) throw new Error('NOPERM');
      },
    },
  });
});

test('a store that refused when it was connected to is asked again until it serves, and then no more', async () => {
  refuse(new Error('NOPERM'));
  expect(states).toEqual(['failed: connect', 'down']);
  await expect.poll(() => checks, PATIENCE).toEqual(['refused']);
  isServing = true;
  await expect.poll(availability.isUp, PATIENCE).toBe(true);
  expect(checks).toEqual(['refused', 'served']);
  expect(states).toEqual(['failed: connect', 'down', 'failed: connect', 'up']);
});

test('to be asked again keeps no batch from asking, each second', async () => {
  refuse(new Error('NOPERM'));
  await expect.poll(() => checks.length, PATIENCE).toBe(1);
  // A second has passed since it was refused, and the question just now is none of a batch.
  expect(await availability.attempt('admit', async () => 'admitted')).toEqual({ kind: 'answered', answer: 'admitted' });
  expect(availability.isUp()).toBe(true);
});

test('where a batch has asked in vain, the answer to a batch alone says that the store serves', async () => {
  refuse(new Error('NOPERM'));
  await expect.poll(() => checks.length, PATIENCE).toBe(1);
  isServing = true;
  const fail = async () => Promise.reject(Object.assign(new Error('OOM'), { name: 'ReplyError' }));
  expect(await availability.attempt('admit', fail)).toEqual({ kind: 'away' });
  const asked = checks.length;
  // Two seconds of batches, of which two are let ask.
  const askOnce = async () => {
    await availability.attempt('admit', fail);
    return states.filter((state) => state === 'failed: admit').length;
  };
  await expect.poll(askOnce, PATIENCE).toBe(3);
  expect(checks).toHaveLength(asked);
  expect(availability.isUp()).toBe(false);
});
