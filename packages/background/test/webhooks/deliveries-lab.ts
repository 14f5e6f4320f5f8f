import { randomUUID } from 'node:crypto';
import { toRedisClient } from '@recourse/test-support/session-stores-under-test.ts';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { createRedisDeliveryIndex } from '#src/jobs/redis-due-index.ts';

import type { ClaimedDelivery, Delivery } from '#src/webhooks/delivery-store.ts';

export const createDelivery = (endpoint = `e-${randomUUID()}`): Delivery => ({
  id: `msg_${randomUUID()}`,
  endpoint,
  tenant: 'acme',
  body: '{"type":"tool_call.completed","text":"Ünï\\n✓"}',
  since: 1_764_000_000_123,
});

export const LEASE_MS = 30_000;

/** The delivery as a claim gives it, wherever its store has it. */
export const toClaimed = (delivery: Delivery, attempt: number) => ({ ...delivery, attempt, dueAt: expect.any(Number) });

/** The one delivery of a claim. */
export const toOnly = ({ deliveries }: { readonly deliveries: readonly ClaimedDelivery[] }): ClaimedDelivery => {
  const [claimed, another] = deliveries;
  if (claimed === undefined || another !== undefined) throw new Error(`${deliveries.length} were claimed.`);
  return claimed;
};

/** The indexes of endpoints in Redis. */
export const indexesIn = (redis: Redis) => createRedisDeliveryIndex(toRedisClient(redis));

/** Lets so much time pass for all indexes in Redis. */
export const ageIndexes = async (redis: Redis, ms: number): Promise<void> => {
  for (const key of await redis.keys('recourse2:{webhooks:*}:due'))
    for (const entry of await redis.zrange(key, '0', '-1')) await redis.zincrby(key, -ms, entry);
};
