import type { Config } from 'recourse-server/config/settings/config';
import type { ByteBudget } from 'recourse-server/memory/byte-budget';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { callKind, type StoredCall } from './calls/call-kind.ts';
import { type CallRecords, type CallRecordsOptions, createCallRecords } from './calls/call-records.ts';
import { createLocalSignals, createRedisSignals } from './calls/call-signals.ts';
import { createDueIndex, createDueIndexes } from './jobs/due-index.ts';

/** Opens the records of pending calls. `budget`: of what those take that only this process knows. */
export const openCallRecords = async (
  config: Config,
  { backend, budget, now }: { readonly backend: StoreBackend; readonly budget: ByteBudget; readonly now: () => number },
): Promise<CallRecords> => {
  const { durability, records: store, space, sealing, onReturn, keysOf, shared } = backend;
  const limits = {
    ofSession: config.SESSION_MAX_PENDING,
    ofKey: config.KEY_MAX_PENDING,
    ofService: config.MAX_PENDING,
  };
  const common = { durability, store, space, sealing, onReturn, limits };
  if (shared === null) {
    const live = createDueIndex({ limits: { ofHolder: limits.ofKey, ofAll: limits.ofService }, now });
    // As large as the store is.
    const maxResultBytes = Number.POSITIVE_INFINITY;
    const openSession = createDueIndexes({ limits: { ofHolder: 1, ofAll: limits.ofSession }, now });
    const own = { budget, makingPauseMs: 1, signals: createLocalSignals(), live, openSession, maxResultBytes };
    return openEmbeddedCallRecords({ ...common, ...own }, keysOf(callKind.name));
  }
  const { createRedisLiveCalls, createRedisSessionCalls } = await import('./jobs/redis-due-index.ts');
  return createCallRecords({
    ...{ ...common, budget: null, makingPauseMs: 50 },
    signals: createRedisSignals(shared),
    live: createRedisLiveCalls(shared.client, limits),
    openSession: createRedisSessionCalls(shared.client, limits.ofSession),
  });
};

const TAKEN_BACK_AT_ONCE = 100;

/**
 * Pending calls of a store that only this process has, with what it kept when the process before this one ended: no worker holds
 * those calls any more, and a sweep looks at them at once.
 */
export const openEmbeddedCallRecords = async (
  options: CallRecordsOptions,
  keys: readonly string[],
): Promise<CallRecords> => {
  const calls = options.store.open(callKind);
  const records = createCallRecords(options);
  const takeBack = async (key: string): Promise<void> => {
    const giveBack = ({ call }: StoredCall): void => {
      if (call !== null && call.state !== 'ended') call.leaseEndsAt = 0;
    };
    await calls.update(key, giveBack, 'long');
    const record = await records.find(key);
    if (record !== null && record.state !== 'ended' && record.spec !== null) records.enterAgain(key, record.spec, 0);
  };
  for (let from = 0; from < keys.length; from += TAKEN_BACK_AT_ONCE)
    await Promise.all(keys.slice(from, from + TAKEN_BACK_AT_ONCE).map(takeBack));
  return records;
};
