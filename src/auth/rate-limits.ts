import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { StoreMemory } from '../memory/store-memory.ts';
import type { Rate } from './callers.ts';

/** A request that is one too many of its rate, and how long until its caller is let in again: 1 to the window, in milliseconds. */
type Limited = { readonly retryAfterMs: number; readonly rate: Rate };

/** Whose request it is: counted under `rateKey`, or by `address` where that is null. */
type RatedCaller = { readonly tenant: string; readonly rateKey: string | null; readonly rate: Rate | null };

/** Counts a request and says whether it is one too many. Answers at once where it need not be counted; never rejects. */
export type LimitRate = (caller: RatedCaller, address: string) => Limited | null | Promise<Limited | null>;

export type RateLimitsOptions = {
  /** Of callers that have no rate of their own; null: as many as come. */
  readonly standard: Rate | null;
  /** The Redis that all replicas count in; null: this process counts alone. */
  readonly store: {
    /** What its keys begin with. */
    readonly keyPrefix: string;
    /** Sends one command. Rejects with Redis's own `ReplyError`, and where it gives no answer or is known to give none. */
    readonly call: (command: string, ...parameters: string[]) => Promise<unknown>;
  } | null;
  /** Called for each request that was counted in this process alone although there is a Redis, or not at all. */
  readonly onError: (error: unknown) => void;
  readonly now: () => number;
  /** Of which the store `rates` has the callers that this process counts, and `blocked` those that are over their rate. */
  readonly memory: StoreMemory;
};

// Measured: the library's record of a caller, with the timer that ends its window.
const CALLER_BYTES = 300;
// A number that is no small integer.
const BLOCKED_BYTES = 16;
// Where Redis refuses to count it is asked in vain once a second, not once per request.
const PAUSE_MS = 1000;

const PAUSED = new Error('The session store refused to count the request.');

/** Counts one request of `tenant:caller`; null where it is within the rate. Rejects where it could not be counted. */
type CountRequest = (key: string) => Promise<Limited | null>;

/**
 * Holds callers to their rates, in fixed windows that open with a caller's first request. A Redis that cannot be asked
 * refuses nobody: until it can, this process counts alone. A counter that fails lets the request in.
 */
export const createRateLimits = (options: RateLimitsOptions): LimitRate => {
  const { standard, onError, now, memory } = options;
  const counterOf = createCounters(options);
  // One caller that is known to be over its rate costs no command until its window ends.
  const blockedUntil = memory.open<number>('blocked', { now });
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
  return ({ tenant, rate: own, rateKey }, address) => {
    const rate = own ?? standard;
    if (rate === null) return null;
    const key = `${tenant}:${toRateKey(rate, rateKey, address)}`;
    const retryAfterMs = Math.ceil((blockedUntil.get(key) ?? 0) - now());
    return retryAfterMs > 0 ? { retryAfterMs, rate } : count(rate, key);
  };
};

/** One counter for each rate that a caller has. */
const createCounters = (options: RateLimitsOptions): ((rate: Rate) => CountRequest) => {
  const { store, memory, now } = options;
  const counters = new Map<string, CountRequest>();
  const pause = createPause(now);
  const callers = memory.open<RateLimiterMemory>('rates', {
    now,
    onGone: (key, limiter) => void limiter.delete(key),
  });
  const createCounter = (rate: Rate): CountRequest => {
    // The library forgets a caller when its window ends, and has no bound until then.
    const limiter = new RateLimiterMemory({ ...toLimiterOptions(rate), keyPrefix: '' });
    const countHere: CountRequest = (key) => {
      if (callers.get(key) === undefined) callers.set(key, limiter, CALLER_BYTES, rate.windowMs);
      return consume(limiter, rate, key);
    };
    return store === null
      ? countHere
      : createSharedCounter(rate, { store, countHere, pause, onError: options.onError });
  };
  return (rate) => {
    const name = `${rate.requests}/${rate.windowMs}`;
    const counter = counters.get(name) ?? createCounter(rate);
    counters.set(name, counter);
    return counter;
  };
};

/** Counts in Redis, for all replicas together: one command that touches one key. Where Redis does not count, `countHere` does. */
const createSharedCounter = (
  rate: Rate,
  {
    store,
    countHere,
    pause,
    onError,
  }: Pick<RateLimitsOptions, 'onError'> & {
    readonly store: NonNullable<RateLimitsOptions['store']>;
    readonly countHere: CountRequest;
    readonly pause: ReturnType<typeof createPause>;
  },
): CountRequest => {
  // In the form of the package redis: its script then goes through the client that knows how long to wait.
  const storeClient = {
    eval: (script: string, words: { readonly keys: readonly string[]; readonly arguments: readonly string[] }) =>
      store.call('EVAL', script, String(words.keys.length), ...words.keys, ...words.arguments),
  };
  const limiter = new RateLimiterRedis({
    ...toLimiterOptions(rate),
    keyPrefix: store.keyPrefix,
    storeClient,
    useRedisPackage: true,
  });
  return async (key) => {
    if (!pause.mayAsk()) {
      onError(PAUSED);
      return countHere(key);
    }
    try {
      // Without its tenant, which this process alone goes by.
      const limited = await consume(limiter, rate, `{${key.slice(key.indexOf(':') + 1)}}`);
      pause.end();
      return limited;
    } catch (error) {
      // The library hands on what its client throws.
      if (error instanceof Error && error.name === 'ReplyError') pause.begin();
      onError(error);
      return countHere(key);
    }
  };
};

/** Whether Redis is asked: once a second after it has refused to count, until it counts. */
const createPause = (now: () => number) => {
  let pausedUntil: number | null = null;
  const begin = (): void => {
    pausedUntil = now() + PAUSE_MS;
  };
  return {
    begin,
    end: (): void => {
      pausedUntil = null;
    },
    mayAsk: (): boolean => {
      if (pausedUntil === null) return true;
      if (now() < pausedUntil) return false;
      // This one asks; those beside it need not.
      begin();
      return true;
    },
  };
};

const toLimiterOptions = ({ requests, windowMs }: Rate) => ({ points: requests, duration: windowMs / 1000 });

// The library throws its answer where it is a no.
const consume = async (limiter: RateLimiterAbstract, rate: Rate, key: string): Promise<Limited | null> => {
  try {
    await limiter.consume(key);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof RateLimiterRes)) throw thrown;
    // A clock that was set anew makes any number of it.
    return { retryAfterMs: Math.min(rate.windowMs, Math.max(1, Math.ceil(thrown.msBeforeNext))), rate };
  }
};

// What one customer of a provider is given at least (RFC 6177): each of its 2^64 addresses would be a caller of its own.
const NETWORK_BYTES = 8;

/** An IPv4 address, also one written as IPv6; of IPv6 the /64 network. What is no address stands for itself. */
const toNetwork = (address: string): string => {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, NETWORK_BYTES).join('.');
};

/**
 * Under which the requests of a caller are counted: opaque, 43 characters, the same in every replica. Another rate is
 * another count, or a window that was opened as an hour would hold back who has a rate per second by now.
 */
export const toRateKey = ({ requests, windowMs }: Rate, rateKey: string | null, address: string): string => {
  const who = rateKey === null ? `address ${toNetwork(address)}` : `key ${rateKey}`;
  return hash('sha256', `${requests}/${windowMs} ${who}`, 'base64url');
};
