import { createPace, LEAST_SAMPLES } from './pace.ts';
import { Usual } from './usual.ts';

// Less is not counted: a call that works no longer costs no immediate, and no question for how long the loop was idle.
export const LEAST_COUNTED_MS = 0.2;
// By Little's law duration / work keep the loop busy; twice as many, and 50 ms of work that may stand ready, because a
// burst leaves the loop idle until its first call ends.
const DURATIONS = 2;
const BACKLOG_MS = 50;
// What less takes is no computing but what every call costs, and such calls may all run.
const LEAST_WORK_MS = 1;

/** What one call of a tool takes of the event loop, as learned from those that have ended. In milliseconds. */
export class ToolWork {
  /** Its handlers are known to take too little until they give way to be counted. */
  isBrief = false;
  /** So many calls at once keep the event loop busy; more would only wait for one another on it. */
  width = Number.POSITIVE_INFINITY;
  readonly #starts = new Usual();
  readonly #ends = createPace();
  readonly #durations = createPace();

  /** Until its handler gives way: that is charged before it begins. */
  startMs(): number {
    return this.isBrief ? 0 : this.#starts.value;
  }

  learnStart(workMs: number): void {
    this.#starts.learn(workMs);
    this.isBrief = this.#starts.samples >= LEAST_SAMPLES && this.#starts.value < LEAST_COUNTED_MS;
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

  /** All that one call takes; 0 where it computes nothing worth the name, and as long as too few have ended. */
  wholeMs(): number {
    const start = this.#starts.samples < LEAST_SAMPLES ? 0 : this.#starts.value;
    const work = start + this.#ends.usualMs();
    return work < LEAST_WORK_MS ? 0 : work;
  }

  #renewWidth(): void {
    const work = this.wholeMs();
    const duration = this.#durations.meanMs();
    this.width =
      work === 0 || duration === 0 ? Number.POSITIVE_INFINITY : Math.ceil((DURATIONS * duration + BACKLOG_MS) / work);
  }
}
