import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startLoadClock } from '#src/isolation/load-clock.ts';

/** A clock of 20 ms, beside a process that has waited for a processor as told. */
const open = () => {
  const lab = { now: 1000, waitedMs: 300, overs: 0 };
  const stop = startLoadClock({
    maxMs: 20,
    waitedMs: () => lab.waitedMs,
    now: () => lab.now,
    onOver: () => {
      lab.overs += 1;
    },
  });
  onTestFinished(stop);
  return {
    lab,
    stop,
    /** Lets so much time pass, as far as the clock can see. */
    pass: async (ms: number): Promise<void> => {
      lab.now += ms;
      await pause(ms + 60);
    },
  };
};

test('a process that had a processor all the time has its time and no more', async () => {
  const { lab, pass } = open();
  await pass(20);
  expect(lab.overs).toBe(1);
});

test('what a process waits for a processor is no time of its own', async () => {
  const { lab, pass } = open();
  lab.waitedMs += 15;
  await pass(20);
  expect(lab.overs).toBe(0);
  await pass(14);
  expect(lab.overs).toBe(0);
  await pass(1);
  expect(lab.overs).toBe(1);
});

test('after 15 s the time is over however long it has waited', async () => {
  const { lab, pass } = open();
  lab.waitedMs += 60_000;
  lab.now += 14_999;
  await pass(1);
  expect(lab.overs).toBe(1);
});

test('a clock that was stopped says nothing', async () => {
  const { lab, stop, pass } = open();
  stop();
  await pass(30);
  expect(lab.overs).toBe(0);
});
