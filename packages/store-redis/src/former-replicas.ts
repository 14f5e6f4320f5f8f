import * as z from 'zod';
import type { RedisClient } from './redis-client.ts';

// As long as any process of version 0.1 runs with this Redis, one of them puts the end of this lease off once a second.
const LEASE = 'recourse:{kept}:lease';
const LEASE_MS = 3000;
// A process that is stopped for a while is not gone.
const GONE_AFTER_MS = 60_000;
// A Redis that is away keeps no service from starting.
const CONNECT_MS = 1000;

const Time = z.tuple([z.coerce.number(), z.coerce.number()]);

/**
 * Rejects where a process of version 0.1 has used this Redis within a minute: the two know nothing of each other's budgets and
 * marks. Resolves where Redis does not answer, or does not let this user read the key.
 */
export const refuseFormerReplicas = async (
  client: Pick<RedisClient, 'callWithTimeout' | 'onReady' | 'onLost' | 'disconnect'>,
): Promise<void> => {
  const isConnected = new Promise<boolean>((resolve) => {
    client.onReady(() => resolve(true));
    client.onLost(() => resolve(false));
    setTimeout(() => resolve(false), CONNECT_MS).unref();
  });
  const ageMs = (await isConnected) ? await readAge(client).then(undefined, () => null) : null;
  if (ageMs === null || ageMs >= GONE_AFTER_MS) return;
  client.disconnect();
  throw new Error(
    `REDIS_URL: version 0.1 used this Redis ${Math.max(0, Math.round(ageMs / 1000))} s ago, and must not share one with 0.2. Stop its callers, wait until none of its calls is pending, end its replicas and workers, and start 0.2 a minute later; or use another Redis. See docs/versions.md.`,
  );
};

/** How long ago the lease was put off, by the server's clock; null where there is none. */
const readAge = async ({ callWithTimeout }: Pick<RedisClient, 'callWithTimeout'>): Promise<number | null> => {
  const until = await callWithTimeout('HGET', LEASE, 'until');
  if (until === null) return null;
  const [seconds, microseconds] = Time.parse(await callWithTimeout('TIME'));
  return seconds * 1000 + microseconds / 1000 - (z.coerce.number().parse(until) - LEASE_MS);
};
