import { ConsecutiveBreaker, circuitBreaker, handleWhenResult, CircuitState as PolicyState } from 'cockatiel';
import type { CircuitState } from './circuit-observer.ts';
import type { CircuitVerdict } from './circuit-verdict.ts';

type Told = Exclude<CircuitVerdict, 'neither'>;

/** The breaker of one tool or upstream. Everything answers at once. */
export type Circuit = {
  readonly state: () => CircuitState;
  /** Milliseconds until a call may be tried; null where one may be now. */
  readonly refusal: () => number | null;
  /** Makes a call the probe, where the circuit is not closed and refuses nothing; gives what hears of its end. */
  readonly takeProbe: (patienceMs: number) => (verdict: CircuitVerdict) => void;
  /** A call that was no probe was at fault; those of one batch count once in a row. */
  readonly faulted: (batch: WeakKey) => void;
  /** A call that was no probe succeeded. */
  readonly succeeded: () => void;
};

export type CircuitOptions = {
  readonly failures: number;
  readonly openMs: number;
  readonly now: () => number;
  readonly stateChanged: (state: CircuitState) => void;
};

// Those beside a probe may ask again soon: it may have ended by then.
const BESIDE_PROBE_MS = 1000;

// How long it stays open is decided here and not by cockatiel 4.0, which asks a clock that may be set back.
const WHENEVER_TRIED = Number.NEGATIVE_INFINITY;

const FAULTS = handleWhenResult((told) => told === 'fault');

const NAMES = {
  [PolicyState.Closed]: 'closed',
  [PolicyState.Open]: 'open',
  [PolicyState.HalfOpen]: 'half_open',
  [PolicyState.Isolated]: 'open',
} as const satisfies Record<PolicyState, CircuitState>;

/** The one trial of a half-open circuit; calls that end without saying anything hand it on. */
type Trial = {
  holder: { readonly until: number } | null;
  told: Told | null;
  readonly tell: (told: Told) => void;
};

/**
 * Counts and states are cockatiel's. Its `execute` runs no call here, only reports on calls: it would let calls wait
 * for the probe, take every end for one or the other, and cost each call a promise.
 */
export const createCircuit = ({ failures, openMs, now, stateChanged }: CircuitOptions): Circuit => {
  const breaker = new ConsecutiveBreaker(failures);
  const policy = circuitBreaker(FAULTS, { breaker, halfOpenAfter: WHENEVER_TRIED });
  let openedAt = 0;
  // The batches counted since the last success; null where there are none.
  let row: WeakSet<WeakKey> | null = null;
  let trial: Trial | null = null;
  policy.onBreak(() => {
    openedAt = now();
  });
  policy.onStateChange((state) => stateChanged(NAMES[state]));

  const report = (told: Told | Promise<Told>): void => void policy.execute(() => told);

  // cockatiel hears of a trial's end two microtasks late; the next call of a batch may come before.
  const state = (): CircuitState => {
    if (policy.state !== PolicyState.HalfOpen || trial === null || trial.told === null) return NAMES[policy.state];
    return trial.told === 'success' ? 'closed' : 'open';
  };

  const beginTrial = (): Trial => {
    const { promise, resolve } = Promise.withResolvers<Told>();
    report(promise);
    return { holder: null, told: null, tell: resolve };
  };

  return {
    state,
    refusal: () => {
      switch (state()) {
        case 'closed':
          return null;
        case 'open': {
          const leftMs = Math.ceil(openedAt + openMs - now());
          return leftMs > 0 ? leftMs : null;
        }
        case 'half_open': {
          const holder = trial?.holder ?? null;
          return holder !== null && now() < holder.until ? Math.min(BESIDE_PROBE_MS, openMs) : null;
        }
      }
    },
    takeProbe: (patienceMs) => {
      const current = trial === null || state() === 'open' ? beginTrial() : trial;
      const holder = { until: now() + patienceMs };
      trial = current;
      current.holder = holder;
      return (verdict) => {
        if (current.holder !== holder) return;
        current.holder = null;
        if (verdict === 'neither') return;
        current.told = verdict;
        current.tell(verdict);
        if (verdict === 'fault') openedAt = now();
        else row = null;
      };
    },
    faulted: (batch) => {
      if (state() !== 'closed' || row?.has(batch) === true) return;
      row ??= new WeakSet();
      row.add(batch);
      report('fault');
    },
    succeeded: () => {
      if (row === null || state() !== 'closed') return;
      row = null;
      report('success');
    },
  };
};
