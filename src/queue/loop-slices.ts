import { LEAST_COUNTED_MS, type ToolWork } from './tool-work.ts';

/** A handler that gave way and has ended, at this moment. */
type EndedRun = { readonly durationMs: number; readonly ended: 'by_itself' | 'cut_off'; readonly moment: number };

export type LoopSlicesOptions = {
  readonly now: () => number;
  /** How long the event loop has been busy in all. */
  readonly busyMs: () => number;
  /** Calls back once what is ready has been read and timers have run. */
  readonly afterSlice: (listener: () => void) => void;
  /** A slice in which calls have worked has ended. */
  readonly sliceEnded: () => void;
};

// As long as it takes to read and drop five hundred calls: fewer keep nobody waiting.
const LATE_MS = 100;
// After so much work of calls in one slice, requests, timers and refusals come first.
const MOST_WORK_MS = 50;
const SLICE_WEIGHT = 0.2;
// So long after the last full slice, the learned length no longer counts.
const REMEMBERED_MS = 1000;

/**
 * What calls take of the event loop, slice by slice, in milliseconds. A slice is one turn of the loop in which calls work.
 *
 * | state | what begins it | what ends it |
 * |---|---|---|
 * | idle | the last slice has ended | a call works for a measurable time, or is dropped |
 * | counting | work is charged to the slice | `afterSlice` calls back: idle; 50 ms of work: full |
 * | full | no call begins | `afterSlice` calls back: idle, and `sliceEnded` starts what waits |
 */
export class LoopSlices {
  readonly #options: LoopSlicesOptions;
  readonly #meter: WorkMeter;
  /** Handlers that gave way and have not ended. */
  #away = 0;
  #spentMs = 0;
  #isFull = false;
  #isCounting = false;
  #startedAt = 0;
  #sliceMs = 0;
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(options: LoopSlicesOptions) {
    this.#options = options;
    this.#meter = new WorkMeter(options.now(), options.busyMs);
  }

  /** Whether a further call may begin in this slice. What the loop did until now is counted for no call. */
  hasRoom(moment: number): boolean {
    if (this.#away > 0) this.#meter.take(moment);
    return !this.#isFull;
  }

  /** A call begins: the slice is charged with what handlers of its tool usually do until they first wait. */
  begin(work: ToolWork): void {
    const startMs = work.startMs();
    if (startMs > 0) this.#spend(startMs);
  }

  /** The call that began does not run after all. */
  giveUp(work: ToolWork): void {
    const startMs = work.startMs();
    if (startMs > 0) this.#spend(-startMs);
  }

  /** The handler that began `workMs` ago waits for something. */
  gaveWay(work: ToolWork, workMs: number, moment: number): void {
    this.#away += 1;
    this.#meter.take(moment);
    this.#learnStart(work, workMs);
  }

  /** The handler that began `workMs` ago has ended without giving way. */
  endAtOnce(work: ToolWork, workMs: number, moment: number): void {
    if (work.isBrief && workMs < LEAST_COUNTED_MS) return;
    if (this.#away > 0) this.#meter.take(moment);
    this.#learnStart(work, workMs);
  }

  /** A handler that gave way has ended. */
  endLater(work: ToolWork, { durationMs, ended, moment }: EndedRun): void {
    this.#away = Math.max(0, this.#away - 1);
    const workMs = this.#meter.take(moment);
    if (ended === 'cut_off') {
      work.learnCutOff(durationMs);
      return;
    }
    // Calls that worked before it in this slice only delayed it.
    work.learnEnd(Math.max(0, durationMs - this.#spentMs), workMs);
    if (workMs >= LEAST_COUNTED_MS) this.#spend(workMs);
  }

  /** A call is dropped. Whether so many are dropped that this slice lasts too long. */
  dropIsLate(moment: number): boolean {
    if (!this.#isCounting) this.#beginSlice(moment);
    return moment - this.#startedAt > LATE_MS;
  }

  /** How long recent full slices took; 0 while calls leave the loop room. */
  sliceMs(): number {
    return this.#options.now() - this.#fullAt > REMEMBERED_MS ? 0 : this.#sliceMs;
  }

  #learnStart(work: ToolWork, workMs: number): void {
    if (work.isBrief && workMs < LEAST_COUNTED_MS) return;
    // What was charged when it began was a guess.
    const chargedMs = work.startMs();
    if (chargedMs > 0 || workMs >= LEAST_COUNTED_MS) this.#spend(workMs - chargedMs);
    work.learnStart(workMs);
  }

  #spend(ms: number): void {
    this.#spentMs = Math.max(0, this.#spentMs + ms);
    this.#isFull = this.#spentMs >= MOST_WORK_MS;
    if (!this.#isCounting && this.#spentMs > 0) this.#beginSlice(this.#options.now());
  }

  #beginSlice(moment: number): void {
    this.#isCounting = true;
    this.#startedAt = moment;
    this.#options.afterSlice(() => this.#endSlice());
  }

  #endSlice(): void {
    const { now, sliceEnded: onTurn } = this.#options;
    this.#isCounting = false;
    if (this.#isFull) {
      const lastedMs = now() - this.#startedAt;
      const beforeMs = this.sliceMs();
      this.#sliceMs = beforeMs === 0 ? lastedMs : beforeMs + (lastedMs - beforeMs) * SLICE_WEIGHT;
      this.#fullAt = now();
    }
    this.#spentMs = 0;
    this.#isFull = false;
    onTurn();
  }
}

/** How long the loop was busy since this was last asked. Asking the clock takes longer than all else here: the moment is given. */
class WorkMeter {
  readonly #busyMs: () => number;
  #askedAt: number;
  #busyAt: number;

  constructor(from: number, busyMs: () => number) {
    this.#busyMs = busyMs;
    this.#askedAt = from;
    this.#busyAt = busyMs();
  }

  take(moment: number): number {
    // A moment may have been read before another call's.
    const passedMs = Math.max(0, moment - this.#askedAt);
    this.#askedAt += passedMs;
    if (passedMs < LEAST_COUNTED_MS) {
      this.#busyAt += passedMs;
      return passedMs;
    }
    const busyMs = this.#busyMs();
    const workMs = Math.min(passedMs, Math.max(0, busyMs - this.#busyAt));
    this.#busyAt = busyMs;
    return workMs;
  }
}
