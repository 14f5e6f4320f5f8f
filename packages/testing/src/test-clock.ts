import type { StartTimer } from 'recourse-server/executor/deadline';
import type { TestClock } from './tester.ts';

/** The clock as the executor reads it: a moment in milliseconds that never goes back, and timers that go by it. */
export type ExecutorClock = TestClock & {
  readonly moment: () => number;
  readonly startTimer: StartTimer;
  /** A timer that nobody has to wait for: a clock that runs moves on to its end by itself. */
  readonly startPause: StartTimer;
  /** Calls back whenever the clock is moved, and each `ms` of the real time, until it is called off. */
  readonly every: (listener: () => void, ms: number) => () => void;
};

type Timer = { readonly dueAt: number; readonly fire: () => void; real: NodeJS.Timeout | undefined };

// Kept here: a test may put another in its place, and `advance` must not wait for that one.
const nextLoop = setImmediate;

/** Lets promises that are settled by now tell all who wait for them, and what those start in turn. */
const settle = async (): Promise<void> => {
  for (let pass = 0; pass < 2; pass += 1) await new Promise<void>((resolve) => nextLoop(() => resolve()));
};

/** Stands at `standsAt`; or, where that is null, runs beside the real time, ahead of it by what was advanced. */
export const createTestClock = (standsAt: Date | null): ExecutorClock => {
  const timers = new Set<Timer>();
  const followers = new Set<() => void>();
  let ahead = 0;
  const moment = (): number => (standsAt === null ? performance.now() : 0) + ahead;
  const arm = (timer: Timer): void => {
    clearTimeout(timer.real);
    if (standsAt === null) timer.real = setTimeout(timer.fire, Math.max(0, timer.dueAt - moment()));
  };
  const startTimer: StartTimer = (listener, ms) => {
    const stop = (): void => {
      clearTimeout(timer.real);
      timers.delete(timer);
    };
    const fire = (): void => {
      stop();
      listener();
    };
    const timer: Timer = { dueAt: moment() + ms, fire, real: undefined };
    timers.add(timer);
    arm(timer);
    return stop;
  };
  const moveTo = (target: number): void => {
    ahead += Math.max(0, target - moment());
    for (const timer of timers) arm(timer);
    for (const follow of followers) follow();
  };
  const findDue = (until: number): Timer | undefined => {
    const due = [...timers].filter(({ dueAt }) => dueAt <= until);
    return due.toSorted((one, other) => one.dueAt - other.dueAt)[0];
  };
  const advance = async (ms: number): Promise<void> => {
    if (!Number.isFinite(ms) || ms < 0)
      throw new RangeError(`clock.advance takes milliseconds of at least 0, not ${String(ms)}.`);
    await settle();
    const target = moment() + ms;
    for (let due = findDue(target); due !== undefined; due = findDue(target)) {
      moveTo(due.dueAt);
      due.fire();
      await settle();
    }
    moveTo(target);
  };
  return {
    now: () => (standsAt === null ? Date.now() : standsAt.getTime()) + ahead,
    moment,
    startTimer,
    startPause: (listener, ms) => {
      const stop = startTimer(listener, ms);
      if (standsAt === null) void advance(ms);
      return stop;
    },
    every: (listener, ms) => {
      const timer = setInterval(listener, ms).unref();
      followers.add(listener);
      return () => {
        clearInterval(timer);
        followers.delete(listener);
      };
    },
    advance,
  };
};
