import { parseRate } from '../auth/rate.ts';
import type { LimitRate } from '../auth/rate-limits.ts';
import { type Config, hasKeys } from '../settings/config.ts';
import type { StoreParts, WiredStore } from './wire-store.ts';

/**
 * The rates of callers: counted in Redis where the sessions are, and in this process while it is away or there is none.
 * Where no caller can have a rate nothing that counts is loaded.
 */
export const wireRates = async (
  config: Config,
  store: Pick<WiredStore, 'rates'>,
  { metrics, memory, now }: Pick<StoreParts, 'metrics' | 'memory' | 'now'>,
): Promise<LimitRate> => {
  const { RATE_LIMIT } = config;
  // A key of the file may have a rate of its own from its next version on.
  if (RATE_LIMIT === undefined && !hasKeys(config)) return () => null;
  const { createRateLimits } = await import('../auth/rate-limits.ts');
  return createRateLimits({
    standard: RATE_LIMIT === undefined ? null : parseRate(RATE_LIMIT),
    store: store.rates,
    // Nothing else: the store's availability says that Redis is away, and why.
    onError: () => {
      metrics.rateLimitErrors.count += 1;
    },
    memory,
    now,
  });
};
