import type { CallSlots } from './call-slots.ts';
import type { LoadSample } from './load-sample.ts';

/** Why a batch is refused before it is read. */
export type RefusalReason = 'queue' | 'event_loop' | 'memory';

export type Refusal = { readonly reason: RefusalReason; readonly retryAfterSeconds: number };

export type LoadGate = {
  /** Hears of every interval, in order. */
  readonly observe: (sample: LoadSample) => void;
  /** Why a batch of this caller should not be read now; null where it should. */
  readonly shed: (caller: string) => Refusal | null;
};

export type LoadGateOptions = {
  readonly slots: Pick<CallSlots, 'isFullFor' | 'isIdle' | 'retryAfterMs'>;
  readonly maxLagMs: number;
  readonly onShed: (reason: RefusalReason) => void;
};

const MOST_MEMORY = 0.9;
// A loop that came late without having been busy was not given the processor: refusing batches would not help.
const LEAST_UTILIZATION = 0.7;
// One long computation, a collection of garbage or the first requests after the start lag once: that is no overload.
const LATE_IN_A_ROW = 3;
// The admitted share falls by a fifth and rises by a fiftieth an interval: near the right share it moves little, and a
// second after a short spell all batches are let in again.
const DECREASE = 0.8;
const INCREASE = 0.02;
const LEAST_ADMITTED = 0.05;
// Steps of the golden ratio spread evenly, also over every second or tenth request: no caller is always the one.
const STEP = 0.6180339887498949;
const MEMORY_RETRY_SECONDS = 5;

/**
 * Decides at the door, from how the process does: a full queue refuses the callers that hold most of it, a lagging
 * event loop a share that follows the lag, and scarce memory everybody as long as anything runs.
 */
export const createLoadGate = ({ slots, maxLagMs, onShed }: LoadGateOptions): LoadGate => {
  let admitted = 1;
  let memory = 0;
  let lateInARow = 0;
  let turn = 0;
  const isUnlucky = (): boolean => {
    turn = (turn + STEP) % 1;
    return turn >= admitted;
  };
  const judge = (caller: string): Refusal | null => {
    if (memory > MOST_MEMORY && !slots.isIdle()) return { reason: 'memory', retryAfterSeconds: MEMORY_RETRY_SECONDS };
    if (slots.isFullFor(caller)) return { reason: 'queue', retryAfterSeconds: Math.ceil(slots.retryAfterMs() / 1000) };
    return admitted < 1 && isUnlucky() ? { reason: 'event_loop', retryAfterSeconds: 1 } : null;
  };
  return {
    observe: (sample) => {
      memory = sample.memory;
      const isLate = sample.lagMs > maxLagMs && sample.utilization >= LEAST_UTILIZATION;
      lateInARow = isLate ? lateInARow + 1 : 0;
      if (!isLate) admitted = Math.min(1, admitted + INCREASE);
      else if (admitted < 1 || lateInARow >= LATE_IN_A_ROW) admitted = Math.max(LEAST_ADMITTED, admitted * DECREASE);
    },
    shed: (caller) => {
      const refusal = judge(caller);
      if (refusal !== null) onShed(refusal.reason);
      return refusal;
    },
  };
};
