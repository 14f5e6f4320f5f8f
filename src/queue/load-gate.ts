import type { SlotQueue } from './slot-queue.ts';

/** How the process was doing in one interval, by whoever measures it. */
export type LoadSample = {
  /** By how much the event loop came late, in milliseconds. */
  readonly lagMs: number;
  /** Share of the interval in which the event loop was busy, 0 to 1. */
  readonly utilization: number;
  /** Share of its memory that the process uses, 0 to 1: of the heap or of what the system gives it, whichever is more. */
  readonly memory: number;
  /** Share of its file descriptors that are open, 0 to 1; 0 where the system does not tell. */
  readonly files: number;
};

/** Why a batch is refused before it is read. */
export type RefusalReason = 'queue' | 'event_loop' | 'memory' | 'files';

export type LoadGate = ReturnType<typeof createLoadGate>;

type Refusal = { readonly reason: RefusalReason; readonly retryAfterSeconds: number };

const MOST_MEMORY = 0.9;
// The rest is for what runs, and for health and metrics.
const MOST_FILES = 0.9;
// A loop that came late without having been busy was not given the processor: refusing batches would not help.
const LEAST_UTILIZATION = 0.7;
const INTERVAL_MS = 100;
// Fewer drops than this are single calls in a hurry. Where the door lets in just what can be run, a few remain.
const MOST_DROPPED = 0.1;
const MEMORY_RETRY_SECONDS = 5;
const FILES_RETRY_SECONDS = 2;

/**
 * Decides at the door, from how the process does. A full queue refuses the callers that hold most of it; a queue that
 * drops what it was given, and a lagging event loop, refuse a share; scarce memory, or scarce file descriptors, everybody as
 * long as anything runs.
 */
export const createLoadGate = ({
  slots,
  maxLagMs,
  now,
  onShed,
}: {
  readonly slots: Pick<SlotQueue, 'isFullFor' | 'isIdle' | 'retryAfterMs' | 'takeStartCounts'>;
  readonly maxLagMs: number;
  readonly now: () => number;
  readonly onShed: (reason: RefusalReason) => void;
}) => {
  const loop = new AdmittedShare();
  const queue = new AdmittedShare();
  let memory = 0;
  let files = 0;
  let observedAt = now();

  const observeLag = (lagMs: number, utilization: number): void => {
    observedAt = now();
    const isLate = lagMs > maxLagMs && utilization >= LEAST_UTILIZATION;
    loop.observe(isLate ? 'bad' : 'good', lagMs / maxLagMs);
  };
  // While more sockets are ready than one turn of the loop takes, libuv goes on reading and runs no timer: the interval
  // that does not end is the lag.
  const noticeSilence = (): void => {
    const lagMs = now() - observedAt - INTERVAL_MS;
    if (lagMs > maxLagMs) observeLag(lagMs, 1);
  };
  const findScarce = (): Refusal | null => {
    if (memory > MOST_MEMORY) return { reason: 'memory', retryAfterSeconds: MEMORY_RETRY_SECONDS };
    return files > MOST_FILES ? { reason: 'files', retryAfterSeconds: FILES_RETRY_SECONDS } : null;
  };
  const judge = (caller: string): Refusal | null => {
    const scarce = findScarce();
    if (scarce !== null && !slots.isIdle()) return scarce;
    if (slots.isFullFor(caller) || queue.refusesNext())
      return { reason: 'queue', retryAfterSeconds: Math.ceil(slots.retryAfterMs() / 1000) };
    return loop.refusesNext() ? { reason: 'event_loop', retryAfterSeconds: 1 } : null;
  };
  return {
    /** Hears of every interval, in order. */
    observe: (sample: LoadSample): void => {
      memory = sample.memory;
      files = sample.files;
      observeLag(sample.lagMs, sample.utilization);
      const { started, dropped } = slots.takeStartCounts();
      queue.observe(dropped > MOST_DROPPED * (started + dropped) ? 'bad' : 'good', 1);
    },
    /** Why a batch of this caller should not be read now; null where it should. */
    shed: (caller: string): Refusal | null => {
      noticeSilence();
      const refusal = judge(caller);
      if (refusal !== null) onShed(refusal.reason);
      return refusal;
    },
  };
};

// One long computation, a collection of garbage or the first requests after the start are bad once: that is no overload.
const BAD_IN_A_ROW = 3;
// The share falls by a fifth and rises by three hundredths an interval: near the right share it moves little, and a second
// after a short spell all batches are let in again.
const DECREASE = 0.8;
const LARGEST_DECREASE = 0.5;
const INCREASE = 0.03;
// A second without a bad interval: what was too much is over.
const GOOD_IN_A_ROW = 10;
const FAST_INCREASE = 0.1;
const LEAST_ADMITTED = 0.05;
// Steps of the golden ratio spread evenly, also over every second or tenth request: no caller is always the one.
const STEP = 0.6180339887498949;

/** Which share of the batches is let in: additive increase, multiplicative decrease, spread without chance. */
class AdmittedShare {
  #admitted = 1;
  #badInARow = 0;
  #goodInARow = 0;
  #turn = 0;

  /** An interval is over. `severity`: 1 = just too much; more = by that many times. */
  observe(interval: 'good' | 'bad', severity: number): void {
    this.#badInARow = interval === 'bad' ? this.#badInARow + 1 : 0;
    this.#goodInARow = interval === 'good' ? this.#goodInARow + 1 : 0;
    if (interval === 'good')
      this.#admitted = Math.min(1, this.#admitted + (this.#goodInARow > GOOD_IN_A_ROW ? FAST_INCREASE : INCREASE));
    else if (this.#admitted < 1 || this.#badInARow >= BAD_IN_A_ROW)
      this.#admitted = Math.max(LEAST_ADMITTED, this.#admitted * Math.max(LARGEST_DECREASE, DECREASE ** severity));
  }

  /** Whether the next batch is one of those not let in. */
  refusesNext(): boolean {
    if (this.#admitted === 1) return false;
    this.#turn = (this.#turn + STEP) % 1;
    return this.#turn >= this.#admitted;
  }
}
