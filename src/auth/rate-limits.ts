import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { StoreMemory } from '../memory/store-memory.ts';
import type { Caller, Rate } from './callers.ts';

/** A request that is one too many of its rate, and how long until its caller is let in again: 1 to the window, in milliseconds. */
type Limited = { readonly retryAfterMs: number; readonly rate: Rate };

/**
 * Counts a request and says whether it is one too many: under the caller's `rateKey`, or by `address` where that is null. Answers
 * at once where it need not be counted; never rejects.
 */
export type LimitRate = (
  caller: Pick<Caller, 'tenant' | 'rateKey' | 'rate'>,
  address: string,
) => Limited | null | Promise<Limited | null>;

export type RateLimitsOptions = {
  /** Of callers that have no rate of their own; null: as many as come. */
  readonly standard: Rate | null;
  /** The Redis that all replicas count in; null: this process counts alone. */
  readonly store: {
    /** What its keys begin with. */
    readonly keyPrefix: string;
    /** Sends one command. Rejects where Redis refuses it, gives no answer, or is known to give none. */
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

/**
 * Holds callers to their rates, in fixed windows that open with a caller's first request. A Redis that cannot be asked
 * refuses nobody: until it can, this process counts alone. A counter that fails lets the request in.
 */
export const createRateLimits = ({ standard, store, onError, now, memory }: RateLimitsOptions): LimitRate => {
  const limitersOf = createLimiters(store);
  const callers = memory.open<RateLimiterMemory>('rates', {
    now,
    onGone: (key, limiter) => void limiter.delete(key),
  });
  // One caller that is known to be over its rate costs no command until its window ends.
  const blockedUntil = memory.open<number>('blocked', { now });
  const count = async (rate: Rate, key: string): Promise<Limited | null> => {
    const { local, shared } = limitersOf(rate);
    try {
      // Without its tenant, which this process alone goes by.
      if (shared !== null) return await consume(shared, rate, `{${key.slice(key.indexOf(':') + 1)}}`);
    } catch (error) {
      onError(error);
    }
    // The library forgets a caller when its window ends, and has no bound until then.
    if (callers.get(key) === undefined) callers.set(key, local, CALLER_BYTES, rate.windowMs);
    return consume(local, rate, key);
  };
  const countOrLetIn = async (rate: Rate, key: string): Promise<Limited | null> => {
    try {
      const limited = await count(rate, key);
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
    return retryAfterMs > 0 ? { retryAfterMs, rate } : countOrLetIn(rate, key);
  };
};

/** The limiters of each rate that a caller has: that of this process, and that of all replicas, which is null without a Redis. */
const createLimiters = (store: RateLimitsOptions['store']) => {
  // In the form of the package redis: its script then goes through the client that knows how long to wait.
  const storeClient = {
    eval: (script: string, args: { readonly keys: readonly string[]; readonly arguments: readonly string[] }) =>
      store?.call('EVAL', script, String(args.keys.length), ...args.keys, ...args.arguments),
  };
  const create = ({ requests, windowMs }: Rate) => {
    const options = { points: requests, duration: windowMs / 1000 };
    return {
      local: new RateLimiterMemory({ ...options, keyPrefix: '' }),
      shared:
        store === null
          ? null
          : new RateLimiterRedis({ ...options, keyPrefix: store.keyPrefix, storeClient, useRedisPackage: true }),
    };
  };
  const limiters = new Map<string, ReturnType<typeof create>>();
  return (rate: Rate) => {
    const name = `${rate.requests}/${rate.windowMs}`;
    const existing = limiters.get(name) ?? create(rate);
    limiters.set(name, existing);
    return existing;
  };
};

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
