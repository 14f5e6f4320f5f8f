import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect } from 'vitest';

export const QUEUED = 1000;
export const SLOTS = 4;
// The last one is kept for a tenant that has nothing running.
const OF_ONE_TENANT = SLOTS - 1;

const BATCH = 50;
const KEYS = { a: 'the-key-of-tenant-a-012345', b: 'the-key-of-tenant-b-012345' } as const;

export const TENANTS = {
  API_KEYS: Object.entries(KEYS)
    .map(([tenant, key]) => toKeyEntry(tenant, key))
    .join(','),
};

/** A worker of so many slots: who began, in that order. No call ends. */
export type FairnessLab = {
  readonly url: string;
  readonly started: () => readonly string[];
};

/** Queues a thousand calls of tenant a, of which none ends, then one of b; tells who has begun when b's has. */
export const startBesideMany = async ({ url, started }: FairnessLab): Promise<readonly string[]> => {
  const { begin } = createPendingClient(url);
  const queue = async (tenant: keyof typeof KEYS, count: number): Promise<void> => {
    const calls = Array.from({ length: count }, (_, id) => ({ id, name: 'hold', arguments: { of: tenant, id } }));
    const { status, results } = await begin({ calls }, { headers: { authorization: `Bearer ${KEYS[tenant]}` } });
    expect([status, results.filter(({ outcome }) => outcome === 'pending').length]).toEqual([202, count]);
  };
  for (let at = 0; at < QUEUED; at += BATCH) await queue('a', BATCH);
  await expect.poll(() => started().length, { timeout: timeLimit(20_000), interval: 5 }).toBe(OF_ONE_TENANT);
  await queue('b', 1);
  await expect.poll(started, { timeout: timeLimit(20_000), interval: 5 }).toContain('b');
  return started();
};
