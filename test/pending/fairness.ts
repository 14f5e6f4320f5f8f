import { expect } from 'vitest';
import { toKeyEntry } from '#test/auth/access-client.ts';
import { createPendingClient } from '#test/support/pending-client.ts';
import { timeLimit } from '#test/support/time-limit.ts';

export const QUEUED = 1000;
export const SLOTS = 4;

const BATCH = 50;
const KEYS = { a: 'the-key-of-tenant-a-012345', b: 'the-key-of-tenant-b-012345' } as const;

export const TENANTS = {
  API_KEYS: Object.entries(KEYS)
    .map(([tenant, key]) => toKeyEntry(tenant, key))
    .join(','),
};

/** A worker of so many slots: who began, in that order, and a way to let all that wait end. */
export type FairnessLab = {
  readonly url: string;
  readonly started: () => readonly string[];
  readonly release: () => void;
};

/** Queues a thousand calls of tenant a, then one of b; tells how many of a's began between b's acceptance and its start. */
export const countStartsBefore = async ({ url, started, release }: FairnessLab): Promise<number> => {
  const { begin } = createPendingClient(url);
  const queue = async (tenant: keyof typeof KEYS, count: number): Promise<void> => {
    const calls = Array.from({ length: count }, (_, id) => ({ id, name: 'hold', arguments: { of: tenant, id } }));
    const { status, results } = await begin({ calls }, { headers: { authorization: `Bearer ${KEYS[tenant]}` } });
    expect([status, results.filter(({ outcome }) => outcome === 'pending').length]).toEqual([202, count]);
  };
  for (let at = 0; at < QUEUED; at += BATCH) await queue('a', BATCH);
  await expect.poll(() => started().length, { timeout: timeLimit(20_000), interval: 5 }).toBe(SLOTS);
  await queue('b', 1);
  const before = started().length;
  expect(before).toBe(SLOTS);
  release();
  await expect.poll(started, { timeout: timeLimit(20_000), interval: 5 }).toContain('b');
  return started().indexOf('b') - before;
};
