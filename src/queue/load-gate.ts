import { createAdmittedShare } from './admitted-share.ts';
import type { SlotQueue } from './call-slots.ts';
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
  readonly slots: Pick<SlotQueue, 'isFullFor' | 'isIdle' | 'retryAfterMs' | 'takeTurns'>;
  readonly maxLagMs: number;
  readonly now: () => number;
  readonly onShed: (reason: RefusalReason) => void;
};

const MOST_MEMORY = 0.9;
// A loop that came late without having been busy was not given the processor: refusing batches would not help.
const LEAST_UTILIZATION = 0.7;
const INTERVAL_MS = 100;
// Fewer drops than this are single calls in a hurry. Where the door lets in just what can be run, a few remain.
const MOST_DROPPED = 0.1;
const MEMORY_RETRY_SECONDS = 5;

/**
 * Decides at the door, from how the process does. A full queue refuses the callers that hold most of it; a queue that
 * drops what it was given, and a lagging event loop, refuse a share; scarce memory everybody as long as anything runs.
 */
export const createLoadGate = ({ slots, maxLagMs, now, onShed }: LoadGateOptions): LoadGate => {
  const loop = createAdmittedShare();
  const queue = createAdmittedShare();
  let memory = 0;
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
  const toQueueRefusal = (): Refusal => ({
    reason: 'queue',
    retryAfterSeconds: Math.ceil(slots.retryAfterMs() / 1000),
  });
  const judge = (caller: string): Refusal | null => {
    if (memory > MOST_MEMORY && !slots.isIdle()) return { reason: 'memory', retryAfterSeconds: MEMORY_RETRY_SECONDS };
    if (slots.isFullFor(caller) || queue.refusesNext()) return toQueueRefusal();
    return loop.refusesNext() ? { reason: 'event_loop', retryAfterSeconds: 1 } : null;
  };
  return {
    observe: (sample) => {
      memory = sample.memory;
      observeLag(sample.lagMs, sample.utilization);
      const { started, dropped } = slots.takeTurns();
      queue.observe(dropped > MOST_DROPPED * (started + dropped) ? 'bad' : 'good');
    },
    shed: (caller) => {
      noticeSilence();
      const refusal = judge(caller);
      if (refusal !== null) onShed(refusal.reason);
      return refusal;
    },
  };
};
