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
  const records = createCallRecords(options);
  const takeBack = async (key: string): Promise<void> => {
    const giveBack = ({ call }: StoredCall): void => {
      if (call !== null && call.state !== 'ended') call.leaseEndsAt = 0;
    };
    await calls.update(key, giveBack, 'long');
    const record = await records.find(key);
    if (record !== null && record.state !== 'ended' && record.spec !== null)
      options.live.enterAgain(key, record.spec, 0);
  };
  for (let from = 0; from < keys.length; from += TAKEN_BACK_AT_ONCE)
    await Promise.all(keys.slice(from, from + TAKEN_BACK_AT_ONCE).map(takeBack));
  return records;
};
