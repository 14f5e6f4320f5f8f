import type { CallSpec } from '../../executor/pending-calls.ts';
import { callKind, type StoredCall } from './call-kind.ts';
import { type CallRecords, type CallRecordsOptions, createCallRecords } from './call-records.ts';

const TAKEN_BACK_AT_ONCE = 100;

/**
 * Pending calls of a store that only this process has, with what it kept when the process before this one ended: nobody holds
 * those calls any more, and a sweep looks at them at once.
 */
export const openEmbeddedCallRecords = async (
  options: CallRecordsOptions,
  keys: readonly string[],
): Promise<CallRecords> => {
  const calls = options.store.open(callKind);
  const takeBack = async (key: string): Promise<void> => {
    const returned = ({ call }: StoredCall): CallSpec | null => {
      if (call === null || call.state === 'ended') return null;
      call.leaseEndsAt = 0;
      return call.spec;
    };
    const spec = await calls.update(key, returned, 'long');
    if (spec !== null) options.live.enterAgain(key, spec, 0);
  };
  for (let from = 0; from < keys.length; from += TAKEN_BACK_AT_ONCE)
    await Promise.all(keys.slice(from, from + TAKEN_BACK_AT_ONCE).map(takeBack));
  return createCallRecords(options);
};
