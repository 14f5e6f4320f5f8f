import { type CallRecords, type CallRecordsOptions, createCallRecords } from '@recourse/background/calls/call-records';
import { createLocalSignals, createRedisSignals } from '@recourse/background/calls/call-signals';
import { openEmbeddedCallRecords } from '@recourse/background/calls/embedded-call-records';
import { createLiveCalls, type PendingLimits } from '@recourse/background/calls/live-calls';
import type { RedisClient, RedisSubscription } from '@recourse/store-redis/redis-client';
import type { Config } from '../config/settings/config.ts';
import type { ByteBudget } from '../memory/byte-budget.ts';
import type { StoreSpace } from '../sessions/store-space.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Sealing } from '../store/seals.ts';

type OnReturn = CallRecordsOptions['onReturn'];

const toPendingLimits = (config: Config): PendingLimits => ({
  ofSession: config.SESSION_MAX_PENDING,
  ofKey: config.KEY_MAX_PENDING,
  ofService: config.MAX_PENDING,
});

/** Pending calls of a store that this process has alone. `keys`: of those that it has from an earlier process. */
export const openEmbeddedCalls = (
  config: Config,
  {
    budget,
    now,
    keys,
    ...kept
  }: {
    readonly durability: 'file' | 'process';
    readonly store: RecordStore;
    readonly keys: readonly string[];
    readonly space?: StoreSpace;
    readonly budget: ByteBudget;
    readonly now: () => number;
    readonly onReturn: OnReturn;
    readonly sealing: Sealing;
  },
): Promise<CallRecords> => {
  const limits = toPendingLimits(config);
  return openEmbeddedCallRecords(
    {
      ...{ holdsArguments: true, makingPauseMs: 1, ...kept },
      signals: createLocalSignals(),
      live: createLiveCalls({ limits, budget, now }),
      ofSession: limits.ofSession,
      // As large as the store is.
      maxResultBytes: Number.POSITIVE_INFINITY,
    },
    keys,
  );
};

/** Pending calls that all processes share. */
export const openSharedCalls = async (
  config: Config,
  {
    client,
    subscription,
    ...rest
  }: {
    readonly client: RedisClient;
    readonly subscription: RedisSubscription;
    readonly store: RecordStore;
    readonly space: StoreSpace;
    readonly onReturn: OnReturn;
    readonly sealing: Sealing;
  },
): Promise<CallRecords> => {
  const { createRedisLiveCalls } = await import('@recourse/background/jobs/redis-live-calls');
  const limits = toPendingLimits(config);
  return createCallRecords({
    ...{ durability: 'durable', holdsArguments: false, makingPauseMs: 50, ...rest },
    signals: createRedisSignals({ client, subscription }),
    live: createRedisLiveCalls({ client, limits }),
    ofSession: limits.ofSession,
  });
};
