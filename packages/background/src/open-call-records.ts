import type { Config } from 'recourse-server/config/settings/config';
import type { ByteBudget } from 'recourse-server/memory/byte-budget';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { callKind } from './calls/call-kind.ts';
import { type CallRecords, createCallRecords } from './calls/call-records.ts';
import { createLocalSignals, createRedisSignals } from './calls/call-signals.ts';
import { openEmbeddedCallRecords } from './calls/embedded-call-records.ts';
import { createLiveCalls, type PendingLimits } from './calls/live-calls.ts';

const toPendingLimits = (config: Config): PendingLimits => ({
  ofSession: config.SESSION_MAX_PENDING,
  ofKey: config.KEY_MAX_PENDING,
  ofService: config.MAX_PENDING,
});

/** Opens the records of pending calls. `budget`: of what those take that only this process knows. */
export const openCallRecords = async (
  config: Config,
  { backend, budget, now }: { readonly backend: StoreBackend; readonly budget: ByteBudget; readonly now: () => number },
): Promise<CallRecords> => {
  const { durability, records: store, space, sealing, onReturn, keysOf, shared } = backend;
  const limits = toPendingLimits(config);
  const kept = { durability, store, space, sealing, onReturn, ofSession: limits.ofSession };
  if (shared === null)
    return openEmbeddedCallRecords(
      {
        ...{ ...kept, holdsArguments: true, makingPauseMs: 1 },
        signals: createLocalSignals(),
        live: createLiveCalls({ limits, budget, now }),
        // As large as the store is.
        maxResultBytes: Number.POSITIVE_INFINITY,
      },
      keysOf(callKind.name),
    );
  const { createRedisLiveCalls } = await import('./jobs/redis-live-calls.ts');
  return createCallRecords({
    ...{ ...kept, holdsArguments: false, makingPauseMs: 50 },
    signals: createRedisSignals(shared),
    live: createRedisLiveCalls({ client: shared.client, limits }),
  });
};
