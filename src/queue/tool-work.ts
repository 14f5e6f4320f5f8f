import type { SlotCallEnd } from '../executor/call-slots.ts';

// Less is not counted: a call that works no longer costs no immediate, and no question for how long the loop was idle.
export const LEAST_COUNTED_MS = 0.2;
// Fewer say nothing yet, and a guess must not cost a call its run.
const LEAST_SAMPLES = 20;

// Two decades in fifty samples.
const STEP = 1.1;
// The first call of a process takes a hundred times as long as those after it: a few more put that right.
const FIRST_SAMPLES = 10;
const FIRST_STEP = 2;
const LEAST = 0.01;

/** What half of the samples come to at least, 10 % off at rest. One in ten that is a hundred times as large does not move it, as it does a mean. */
class Usual {
  /** 0 before the first sample. */
  value = 0;
  samples = 0;

  learn(sample: number): void {
    this.samples += 1;
    const step = this.samples > FIRST_SAMPLES ? STEP : FIRST_STEP;
    if (this.samples === 1) this.value = Math.max(LEAST, sample);
    else if (sample > this.value * step) this.value *= step;
    else if (sample * step < this.value && this.value > LEAST) this.value /= step;
  }
}

const MEAN_WEIGHT = 0.1;

/** How long calls take, as learned from those that have ended. In milliseconds; 0 while too few have. */
export class Pace {
  readonly #usual = new Usual();
  #samples = 0;
  #mean = 0;

  meanMs(): number {
    return this.#samples < LEAST_SAMPLES ? 0 : this.#mean;
  }

  /** What half of the calls need at least. */
  usualMs(): number {
    return this.#usual.samples < LEAST_SAMPLES ? 0 : this.#usual.value;
  }

  /** `cut_off`: it would have taken longer, so that only the mean learns from it. */
  learn(durationMs: number, ended: SlotCallEnd): void {
    this.#samples += 1;
    this.#mean = this.#samples === 1 ? durationMs : this.#mean + (durationMs - this.#mean) * MEAN_WEIGHT;
    if (ended !== 'cut_off') this.#usual.learn(durationMs);
  }
}

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
  readonly #ends = new Pace();
  readonly #durations = new Pace();

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
