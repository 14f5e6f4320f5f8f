import { parseRate } from '../auth/rate.ts';
import { createRateLimits, type LimitRate } from '../auth/rate-limits.ts';
import type { Config } from '../settings/config.ts';
import type { StoreParts, WiredStore } from './wire-store.ts';

/** The rates of callers: counted in Redis where the sessions are, and in this process while it is away or there is none. */
export const wireRates = (
  { RATE_LIMIT }: Config,
  store: Pick<WiredStore, 'rates'>,
  { metrics, memory, now }: Pick<StoreParts, 'metrics' | 'memory' | 'now'>,
): LimitRate =>
  createRateLimits({
    standard: RATE_LIMIT === undefined ? null : parseRate(RATE_LIMIT),
    store: store.rates,
    // Nothing else: the store's availability says that Redis is away, and why.
    onError: () => {
      metrics.rateLimitErrors.count += 1;
    },
    memory,
    now,
  });
