import type { Logger } from 'pino';
import { createQuietLine } from './create-quiet-line.ts';
import { type DescribedError, describeCauses } from './describe-error.ts';

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
  const line = createQuietLine<{ readonly causes: readonly DescribedError[] }>({
    write: (fields) => log.error(fields, 'observer failed'),
    now,
  });
  return (error: unknown): void => line(() => ({ causes: describeCauses(error) }));
};
