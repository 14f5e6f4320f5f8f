import { LRUCache } from 'lru-cache';
import type { Rate } from './rate.ts';
import {
  type CountRequest,
  createLocalCounter,
  createSharedCounter,
  type Limited,
  type RateStoreClient,
} from './rate-counters.ts';
import { toRateKey } from './rate-key.ts';

/** Whose request it is: counted under `rateKey`, or by `address` where that is null. */
export type RatedCaller = { readonly rateKey: string | null; readonly rate: Rate | null };

/** Counts a request and says whether it is one too many. Answers at once where it need not be counted; never rejects. */
export type LimitRate = (caller: RatedCaller, address: string) => Limited | null | Promise<Limited | null>;

export type RateLimitsOptions = {
  /** Of callers that have no rate of their own; null: as many as come. */
  readonly standard: Rate | null;
  /** Of the Redis that all replicas count in; null: this process counts alone. */
  readonly client: RateStoreClient | null;
  /** Whether that Redis serves, as far as is known. */
  readonly isUp: () => boolean;
  /** Heard of each request that was counted in this process alone although there is a Redis, or not at all. */
  readonly onError: (error: unknown) => void;
  readonly now: () => number;
  /** Callers of one rate that this process counts; the ones that came last. 500 bytes each. */
  readonly maxLocalCallers?: number;
};

// One caller that is known to be over its rate costs no command until its window ends.
const MAX_BLOCKED = 10_000;
const MAX_LOCAL_CALLERS = 50_000;
// As the session store: an outage that only this one meets costs one time-out a second, not one per request.
const PROBE_INTERVAL_MS = 1000;
const AWAY = new Error('The session store is away.');

/**
 * Holds callers to their rates, in fixed windows that open with a caller's first request. A Redis that cannot be asked
 * refuses nobody: until it can, this process counts alone. A counter that fails lets the request in.
 */
export const createRateLimits = (options: RateLimitsOptions): LimitRate => {
  const { standard, onError, now } = options;
  const counterOf = createCounters(options);
  const blockedUntil = new LRUCache<string, number>({ max: MAX_BLOCKED });
  const count = async (rate: Rate, key: string): Promise<Limited | null> => {
    try {
      const limited = await counterOf(rate)(key);
      if (limited !== null) blockedUntil.set(key, now() + limited.retryAfterMs);
      return limited;
    } catch (error) {
      onError(error);
      return null;
    }
  };
  return ({ rate, rateKey }, address) => {
    const held = rate ?? standard;
    if (held === null) return null;
    const key = toRateKey(held, rateKey, address);
    const retryAfterMs = Math.ceil((blockedUntil.get(key) ?? 0) - now());
    return retryAfterMs > 0 ? { retryAfterMs } : count(held, key);
  };
};

/** One counter for each rate that somebody has. */
const createCounters = (options: RateLimitsOptions): ((rate: Rate) => CountRequest) => {
  const known = new Map<string, CountRequest>();
  const turn = createTurn(options);
  return (rate) => {
    const name = `${rate.requests}/${rate.windowMs}`;
    const counter = known.get(name) ?? createCounter(rate, options, turn);
    known.set(name, counter);
    return counter;
  };
};

const createCounter = (rate: Rate, options: RateLimitsOptions, turn: Turn): CountRequest => {
  const { client, onError, maxLocalCallers = MAX_LOCAL_CALLERS } = options;
  const local = createLocalCounter(rate, maxLocalCallers);
  return client === null ? local : withFallback(createSharedCounter(rate, client), local, turn, onError);
};

const withFallback =
  (shared: CountRequest, local: CountRequest, turn: Turn, onError: (error: unknown) => void): CountRequest =>
  async (key) => {
    if (!turn.isOurs()) {
      onError(AWAY);
      return local(key);
    }
    try {
      const answer = await shared(key);
      turn.answered();
      return answer;
    } catch (error) {
      turn.failed();
      onError(error);
      return local(key);
    }
  };

/** Whether Redis is asked: not while the store is away, and once a second after it has failed here. */
type Turn = { readonly isOurs: () => boolean; readonly answered: () => void; readonly failed: () => void };

const createTurn = ({ isUp, now }: Pick<RateLimitsOptions, 'isUp' | 'now'>): Turn => {
  let restsUntil = 0;
  let hasFailed = false;
  const rest = (): void => {
    restsUntil = now() + PROBE_INTERVAL_MS;
  };
  return {
    isOurs: () => {
      if (!isUp() || now() < restsUntil) return false;
      // This one is the probe; those beside it need not wait for it.
      if (hasFailed) rest();
      return true;
    },
    answered: () => {
      hasFailed = false;
      restsUntil = 0;
    },
    failed: () => {
      hasFailed = true;
      rest();
    },
  };
};
