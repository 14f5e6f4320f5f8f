import { createPace } from './pace.ts';

const WEIGHT = 0.1;
// Less is not counted: a call that works no longer costs no immediate, and no question for how long the loop was idle.
export const LEAST_COUNTED_MS = 0.2;
// What may stand ready for the event loop beside the calls that wait for something else.
const BACKLOG_MS = 50;
// What less takes is no computing but what every call costs, and such calls may all run.
const LEAST_WORK_MS = 1;

/** What one call of a tool takes of the event loop, as learned from those that have ended. In milliseconds. */
export class ToolWork {
  /** Until its handler gives way: that is charged before it begins. */
  startMs = 0;
  /** Its handlers are known to take too little until they give way to be counted. */
  isBrief = false;
  /** So many calls at once keep the event loop busy; more would only wait for one another on it. */
  width = Number.POSITIVE_INFINITY;
  readonly #ends = createPace();
  readonly #durations = createPace();
  #hasStarted = false;

  learnStart(workMs: number): void {
    this.startMs = this.#hasStarted ? this.startMs + (workMs - this.startMs) * WEIGHT : workMs;
    this.#hasStarted = true;
    this.isBrief = this.startMs < LEAST_COUNTED_MS;
  }

  /** The call has ended, `durationMs` after it began; `workMs`: what the loop did last for it. */
  learnEnd(durationMs: number, workMs: number): void {
    this.#ends.learn(workMs, 'by_itself');
    this.#durations.learn(durationMs, 'by_itself');
    this.#renewWidth();
  }

  /** It was cut off after `durationMs`. */
  learnCutOff(durationMs: number): void {
    this.#durations.learn(durationMs, 'cut_off');
    this.#renewWidth();
  }

  /** All that one call takes; 0 where it computes nothing worth the name. */
  wholeMs(): number {
    const work = this.startMs + this.#ends.usualMs();
    return work < LEAST_WORK_MS ? 0 : work;
  }

  #renewWidth(): void {
    const work = this.wholeMs();
    this.width = work === 0 ? Number.POSITIVE_INFINITY : Math.ceil((this.#durations.meanMs() + BACKLOG_MS) / work);
  }
}
