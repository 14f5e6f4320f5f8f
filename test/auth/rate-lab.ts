import { onTestFinished } from 'vitest';
import { createRateLimits, type LimitRate, type RateLimitsOptions } from '#src/auth/rate-limits.ts';
import { createRedisClient, type RedisClient } from '#src/sessions/redis-client.ts';

/** Far more than the service's own 50 ms: a machine that is busy for that long is not what these tests are about. */
export const PATIENCE_MS = 1000;

const now = (): number => performance.now();

/** Rate limits, and how often they could not be counted where they should be. */
export const createSubject = (options: Partial<RateLimitsOptions> = {}) => {
  const errors: unknown[] = [];
  const limit = createRateLimits({
    standard: null,
    client: null,
    isUp: () => true,
    onError: (error) => errors.push(error),
    now,
    ...options,
  });
  return { limit, errors };
};

/** The service's own client of this Redis, ready; gone with its test. */
export const connectClient = async (urls: string, patienceMs = PATIENCE_MS): Promise<RedisClient> => {
  const client = createRedisClient(urls, patienceMs);
  onTestFinished(client.disconnect);
  client.onError(() => undefined);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  return client;
};

let keys = 0;

/** A caller that no test has used yet, with a rate of its own, or without one. */
export const freshCaller = (requests?: number, windowMs = 3_600_000) => {
  keys += 1;
  return { rateKey: `caller ${keys} ${process.pid}`, rate: requests === undefined ? null : { requests, windowMs } };
};

export type Caller = ReturnType<typeof freshCaller>;

/** Sends `count` requests at once; how many were let in. */
export const countLetIn = async (limit: LimitRate, caller: Caller, count: number): Promise<number> => {
  const answers = await Promise.all(Array.from({ length: count }, () => limit(caller, '192.0.2.1')));
  return answers.filter((answer) => answer === null).length;
};
