import { tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import type { Rate } from './rate.ts';
import {
  type CountRequest,
  createLocalCounter,
  createSharedCounter,
  type Limited,
  type LocalCallers,
  openLocalCallers,
  type RateStoreClient,
  type SharedCount,
} from './rate-counters.ts';
import { toRateKey } from './rate-key.ts';

/** Whose request it is: counted under `rateKey`, or by `address` where that is null. */
export type RatedCaller = { readonly tenant: string; readonly rateKey: string | null; readonly rate: Rate | null };

/** Counts a request and says whether it is one too many. Answers at once where it need not be counted; never rejects. */
export type LimitRate = (caller: RatedCaller, address: string) => Limited | null | Promise<Limited | null>;

export type RateLimitsOptions = {
  /** Of callers that have no rate of their own; null: as many as come. */
  readonly standard: Rate | null;
  /** Of the Redis that all replicas count in; null: this process counts alone. */
  readonly store: RateStoreClient | null;
  /** Heard of each request that was counted in this process alone although there is a Redis, or not at all. */
  readonly onError: (error: unknown) => void;
  readonly now: () => number;
  /** Of which the store `rates` has the callers that this process counts, and `blocked` those that are over their rate. */
  readonly memory: StoreMemory;
};

// A number that is no small integer.
const BLOCKED_BYTES = 16;
// Where Redis refuses to count it is asked in vain once a second, not once per request.
const REST_MS = 1000;
const RESTING = new Error('The session store refused to count.');

/**
 * Holds callers to their rates, in fixed windows that open with a caller's first request. A Redis that cannot be asked
 * refuses nobody: until it can, this process counts alone. A counter that fails lets the request in.
 */
export const createRateLimits = (options: RateLimitsOptions): LimitRate => {
  const { standard, onError, now, memory } = options;
  const counterOf = createCounters(options);
  // One caller that is known to be over its rate costs no command until its window ends.
  const blockedUntil = memory.open<number>('blocked', { tenantOf: tenantOfKey, ttl: null, now });
  const count = async (rate: Rate, key: string): Promise<Limited | null> => {
    try {
      const limited = await counterOf(rate)(key);
      if (limited !== null) blockedUntil.set(key, now() + limited.retryAfterMs, BLOCKED_BYTES, limited.retryAfterMs);
      return limited;
    } catch (error) {
      onError(error);
      return null;
    }
  };
  return ({ tenant, rate, rateKey }, address) => {
    const held = rate ?? standard;
    if (held === null) return null;
    const key = `${tenant}:${toRateKey(held, rateKey, address)}`;
    const retryAfterMs = Math.ceil((blockedUntil.get(key) ?? 0) - now());
    return retryAfterMs > 0 ? { retryAfterMs } : count(held, key);
  };
};

/** One counter for each rate that somebody has. */
const createCounters = (options: RateLimitsOptions): ((rate: Rate) => CountRequest) => {
  const known = new Map<string, CountRequest>();
  const turn = createTurn(options.now);
  const callers = openLocalCallers(options.memory, options.now);
  return (rate) => {
    const name = `${rate.requests}/${rate.windowMs}`;
    const counter = known.get(name) ?? createCounter(rate, options, { turn, callers });
    known.set(name, counter);
    return counter;
  };
};

const createCounter = (
  rate: Rate,
  { store, onError }: RateLimitsOptions,
  { turn, callers }: { readonly turn: Turn; readonly callers: LocalCallers },
): CountRequest => {
  const local = createLocalCounter(rate, callers);
  return store === null ? local : withFallback(createSharedCounter(rate, store), { local, turn, onError });
};

type Fallback = {
  readonly local: CountRequest;
  readonly turn: Turn;
  readonly onError: RateLimitsOptions['onError'];
};

const withFallback =
  (shared: (key: string) => Promise<SharedCount>, { local, turn, onError }: Fallback): CountRequest =>
  async (key) => {
    if (!turn.isOurs()) {
      onError(RESTING);
      return local(key);
    }
    const count = await shared(key);
    if (count.kind === 'counted') {
      turn.counted();
      return count.limited;
    }
    if (count.kind === 'refused') turn.refused();
    onError(count.error);
    return local(key);
  };

/** Whether Redis is asked: once a second after it has refused to count, until it counts. */
type Turn = { readonly isOurs: () => boolean; readonly counted: () => void; readonly refused: () => void };

const createTurn = (now: () => number): Turn => {
  let restsUntil = 0;
  let isRefused = false;
  const rest = (): void => {
    restsUntil = now() + REST_MS;
  };
  return {
    isOurs: () => {
      if (!isRefused) return true;
      if (now() < restsUntil) return false;
      // This one asks; those beside it need not.
      rest();
      return true;
    },
    counted: () => {
      isRefused = false;
    },
    refused: () => {
      isRefused = true;
      rest();
    },
  };
};
