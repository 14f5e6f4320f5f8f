import {
  createMemoryUnderTest,
  createRedisUnderTest,
  useRedis,
} from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';
import type { Admission, LateRound } from '#src/executor/session-store.ts';

const redis = useRedis();
const settings = {
  sessionRetries: 10,
  cooldownMs: 0,
  ttlMs: 60_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 0,
};

const STORES = { memory: createMemoryUnderTest, redis: () => createRedisUnderTest(redis(), settings) };

describe.each(['memory', 'redis'] as const)('calls that outlive a named round, in %s', (kind) => {
  test('the late end of one gives back no retry that another batch of its round still uses', async () => {
    const { store } = STORES[kind](settings);
    const sessionKey = `tenant:late-claims-${process.pid}-${kind}`;
    const tool = { name: 'x', retries: 1, maxCalls: null, effects: 'write', polling: true } as const;
    const admit = async (batchId: string, roundId: string | null): Promise<Admission> =>
      store.admit({ sessionKey, batchId, roundId, leaseMs: 60_000, tools: [tool], calls: [] });
    const settle = async (admission: Admission, outcome: 'failed' | 'neither'): Promise<void> => {
      const end = { name: 'x', failed: outcome === 'failed', succeeded: false, interrupted: false, error: 'no' };
      await admission.settle({ outcomes: [end], calls: [], journal: null });
    };
    await settle(await admit('first', null), 'failed');
    const pending = await admit('pending', 'round');
    const beside = await admit('beside', 'round');
    expect([pending, beside].map(({ permits }) => permits.get('x')?.decision)).toEqual(['retry', 'retry']);
    const late: LateRound = { sessionKey, batchId: 'late', tool, ticket: pending.ticketOf('x') };
    await settle(pending, 'neither');
    await settle(store.resume(late), 'neither');
    expect((await admit('other', null)).permits.get('x')).toMatchObject({ decision: 'denied', denial: 'running' });
    await settle(beside, 'neither');
    expect((await admit('last', null)).permits.get('x')?.decision).toBe('retry');
  });
});
