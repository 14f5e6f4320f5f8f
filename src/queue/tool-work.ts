import { createPace } from './pace.ts';

/** What one call of a tool takes of the event loop, as learned from those that have ended. In milliseconds. */
export type ToolWork = {
  /** Until its handler gives way: that is charged before it begins. */
  readonly startMs: () => number;
  readonly learnStart: (workMs: number) => void;
  /** The call has ended, `durationMs` after it began; `workMs`: what the loop did last for it. */
  readonly learnEnd: (durationMs: number, workMs: number) => void;
  /** It was cut off after `durationMs`. */
  readonly learnCutOff: (durationMs: number) => void;
  /** All that one call takes; 0 where it computes nothing worth the name. */
  readonly wholeMs: () => number;
  /** So many calls at once keep the event loop busy; more would only wait for one another on it. */
  readonly width: () => number;
};

const WEIGHT = 0.1;
// What may stand ready for the event loop beside the calls that wait for something else.
const BACKLOG_MS = 50;
// What less takes is no computing but what every call costs, and such calls may all run.
const LEAST_WORK_MS = 1;

export const createToolWork = (): ToolWork => {
  const ends = createPace();
  const durations = createPace();
  let start: number | null = null;
  let width = Number.POSITIVE_INFINITY;
  const wholeMs = (): number => {
    const work = (start ?? 0) + ends.usualMs();
    return work < LEAST_WORK_MS ? 0 : work;
  };
  const renewWidth = (): void => {
    const work = wholeMs();
    width = work === 0 ? Number.POSITIVE_INFINITY : Math.ceil((durations.meanMs() + BACKLOG_MS) / work);
  };
  return {
    startMs: () => start ?? 0,
    learnStart: (workMs) => {
      start = start === null ? workMs : start + (workMs - start) * WEIGHT;
    },
    learnEnd: (durationMs, workMs) => {
      ends.learn(workMs, 'by_itself');
      durations.learn(durationMs, 'by_itself');
      renewWidth();
    },
    learnCutOff: (durationMs) => {
      durations.learn(durationMs, 'cut_off');
      renewWidth();
    },
    wholeMs,
    width: () => width,
  };
};
