import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startLoadClock } from '#src/hosted-process.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A clock of 20 ms, beside a process that has waited for a processor as told. */
const open = () => {
  const lab = { now: 1000, waitedMs: 300, overs: 0, tookMs: 0 };
  const stop = startLoadClock({
    maxMs: 20,
    waitedMs: () => lab.waitedMs,
    now: () => lab.now,
    onOver: (tookMs) => {
      lab.overs += 1;
      lab.tookMs = tookMs;
    },
  });
  onTestFinished(stop);
  return {
    lab,
    stop,
    /** Lets so much time pass, as far as the clock can see. */
    pass: (ms: number): void => {
      lab.now += ms;
      vi.advanceTimersByTime(ms + 60);
    },
  };
};

test('a process that had a processor all the time has its time and no more', () => {
  const { lab, pass } = open();
  pass(20);
  expect(lab.overs).toBe(1);
});

test('what a process waits for a processor is no time of its own', () => {
  const { lab, pass } = open();
  lab.waitedMs += 15;
  pass(20);
  expect(lab.overs).toBe(0);
  pass(14);
  expect(lab.overs).toBe(0);
  pass(1);
  expect(lab.overs).toBe(1);
});

test('after 15 s the time is over however long it has waited', () => {
  const { lab, pass } = open();
  lab.waitedMs += 60_000;
  lab.now += 14_999;
  pass(1);
  expect(lab).toMatchObject({ overs: 1, tookMs: 15_000 });
});

test('a clock that was stopped says nothing', () => {
  const { lab, stop, pass } = open();
  stop();
  pass(30);
  expect(lab.overs).toBe(0);
});
