import type { Logger } from 'pino';
import { describeCauses } from './describe-error.ts';

// One that fails fails with every call: it is one story, not one line per call.
const LOG_EVERY_MS = 10_000;

/** Makes of something that watches calls something that cannot disturb them. */
export type GuardObserver = <Event>(observe: (event: Event) => unknown) => (event: Event) => void;

/**
 * An observer that throws, or gives a promise that rejects, changes nothing. It is heard of at once, and then every ten
 * seconds at most, with how often it failed in between.
 */
export const createObserverGuard = (options: { readonly log: Logger; readonly now: () => number }): GuardObserver => {
  return (observe) => {
    const failed = createFailureNote(options);
    return (event) => {
      try {
        const given = observe(event);
        if (given instanceof Promise) given.catch(failed);
      } catch (error) {
        failed(error);
      }
    };
  };
};

const createFailureNote = ({ log, now }: { readonly log: Logger; readonly now: () => number }) => {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let leftOut = 0;
  return (error: unknown): void => {
    if (now() - loggedAt < LOG_EVERY_MS) {
      leftOut += 1;
      return;
    }
    const before = leftOut > 0 ? { equal_lines_left_out: leftOut } : {};
    loggedAt = now();
    leftOut = 0;
    log.error({ causes: describeCauses(error), ...before }, 'observer failed');
  };
};
