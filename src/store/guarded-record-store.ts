import type { Kind, RecordStore, Records } from './record-store.ts';
import { type AvailabilityOptions, createStoreAvailability, type StoreAvailability } from './store-availability.ts';
import { createStoreCheck } from './store-check.ts';

export type GuardedRecordStore = { readonly records: RecordStore; readonly availability: StoreAvailability };

/** Records that are asked for as long as their store serves. While it is known to be away all but `always` reject at once. */
export const guardRecordStore = (
  store: RecordStore,
  options: Omit<AvailabilityOptions, 'check'> & { readonly isConnected?: () => boolean },
): GuardedRecordStore => {
  const { isConnected = () => true, ...rest } = options;
  const check = createStoreCheck(store);
  const availability = createStoreAvailability({ ...rest, check: () => (isConnected() ? check() : null) });
  return { records: { open: (kind) => guard(kind, store.open(kind), availability), now: store.now }, availability };
};

const guard = <State>(
  { operations }: Pick<Kind<State, unknown>, 'operations'>,
  records: Records<State>,
  { ask }: StoreAvailability,
): Records<State> => ({
  update: (key, decide, timeout = 'short') =>
    ask(timeout === 'short' ? operations.short : operations.long, timeout, () => records.update(key, decide, timeout)),
  read: (key, look, only) => ask('read', 'read', () => records.read(key, look, only)),
  ...(records.seen === undefined ? {} : { seen: (key: string) => records.seen?.(key) ?? null }),
  list: (key, count) => ask('read', 'read', () => records.list(key, count)),
  delete: (key) => ask(operations.long, 'long', () => records.delete(key)),
});
