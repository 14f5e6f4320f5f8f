import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { type BoundedStore, tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import type { Rate } from './rate.ts';

/** A request that is one too many, and how long until its caller is let in again: 1 to the window, in milliseconds. */
export type Limited = { readonly retryAfterMs: number };

/** Counts one request of `tenant:caller`; null where it is within the rate. Rejects where it could not be counted. */
export type CountRequest = (key: string) => Promise<Limited | null>;

/**
 * All that counting in Redis needs: sends one command that writes. `refused`: Redis says no to it. `away`: it gave no
 * answer, or is not asked because it is known to give none. Never rejects.
 */
export type RateStoreClient = {
  readonly call: (
    command: string,
    ...parameters: string[]
  ) => Promise<
    | { readonly kind: 'answered'; readonly answer: unknown }
    | { readonly kind: 'refused'; readonly error: unknown }
    | { readonly kind: 'away' }
  >;
};

/** What became of a request that was to be counted in Redis. */
export type SharedCount =
  | { readonly kind: 'counted'; readonly limited: Limited | null }
  | { readonly kind: 'refused' | 'away'; readonly error: unknown };

const PREFIX = 'recourse:rate';

/** Who is counted in the memory of this process, with what counts them. */
export type LocalCallers = BoundedStore<RateLimiterMemory>;

// Measured: the library's record of a caller, with the timer that ends its window.
const CALLER_BYTES = 300;

export const openLocalCallers = (memory: StoreMemory, now: () => number): LocalCallers =>
  memory.open('rates', {
    tenantOf: tenantOfKey,
    ttl: null,
    now,
    onGone: (key, limiter) => void limiter.delete(key),
  });

/** Counts in the memory of this process, as long as `callers` has room. Who is forgotten starts anew. */
export const createLocalCounter = (rate: Rate, callers: LocalCallers): CountRequest => {
  // The library forgets a caller when its window ends, and has no bound until then.
  const limiter = new RateLimiterMemory({ ...toTerms(rate), keyPrefix: '' });
  return (key) => {
    if (callers.get(key) === undefined) callers.set(key, limiter, CALLER_BYTES, rate.windowMs);
    return toAnswer(limiter, rate, key);
  };
};

/** Counts in Redis, for all replicas together: one command that touches one key. Never rejects. */
export const createSharedCounter = (rate: Rate, store: RateStoreClient): ((key: string) => Promise<SharedCount>) => {
  // In the form of the package redis: its script then goes through the client that knows how long to wait.
  const storeClient = {
    eval: async (
      script: string,
      words: { readonly keys: readonly string[]; readonly arguments: readonly string[] },
    ) => {
      const asked = await store.call('EVAL', script, String(words.keys.length), ...words.keys, ...words.arguments);
      if (asked.kind === 'answered') return asked.answer;
      throw asked.kind === 'away' ? AWAY : asked.error;
    },
  };
  const limiter = new RateLimiterRedis({ ...toTerms(rate), keyPrefix: PREFIX, storeClient, useRedisPackage: true });
  return async (key) => {
    try {
      // Without its tenant, which this process alone goes by.
      const hashed = key.slice(key.indexOf(':') + 1);
      return { kind: 'counted', limited: await toAnswer(limiter, rate, `{${hashed}}`) };
    } catch (error) {
      return { kind: error === AWAY ? 'away' : 'refused', error };
    }
  };
};

// The library hands on what its client throws.
const AWAY = new Error('The session store is away.');

const toTerms = ({ requests, windowMs }: Rate) => ({ points: requests, duration: windowMs / 1000 });

// The library throws its answer where it is a no.
const toAnswer = async (limiter: RateLimiterAbstract, rate: Rate, key: string): Promise<Limited | null> => {
  try {
    await limiter.consume(key);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof RateLimiterRes)) throw thrown;
    // A clock that was set anew makes any number of it.
    return { retryAfterMs: Math.min(rate.windowMs, Math.max(1, Math.ceil(thrown.msBeforeNext))) };
  }
};
