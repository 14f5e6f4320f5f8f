import { randomUUID } from 'node:crypto';
import type { Kind, RecordStore, Records } from './record-store.ts';
import { StoreAvailability } from './store-availability.ts';
import { createTextKind } from './text-kind.ts';

/** Records that are asked for as long as their store serves. While it is known to be away all but `always` reject at once. */
export const guardRecordStore = (
  store: RecordStore,
  options: Omit<ConstructorParameters<typeof StoreAvailability>[0], 'check'> & { readonly isConnected?: () => boolean },
) => {
  const { isConnected = () => true } = options;
  const check = createStoreCheck(store);
  const availability = new StoreAvailability({ ...options, check: () => (isConnected() ? check() : null) });
  const records: RecordStore = { open: (kind) => guard(kind, store.open(kind), availability), now: store.now };
  return { records, availability };
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

const checkKind = createTextKind<{ writes: number }>({
  name: 'check',
  operation: 'connect',
  own: /^n$/,
  memory: { records: null, lists: null },
  ttlMs: 10_000,
  create: () => ({ writes: 0 }),
  decode: (fields) => ({ writes: Number(fields.get('n') ?? 0) }),
  toTexts: ({ writes }) => new Map([['n', String(writes)]]),
  isEmpty: ({ writes }) => writes === 0,
  bytes: () => 0,
});

/**
 * Asks a store whether it serves: it writes a record of this process's own, as every other step does, and deletes it. A user of
 * Redis that may connect may lack the right to write, and a replica or a full server answers what is only read.
 */
export const createStoreCheck = (store: RecordStore): (() => Promise<void>) => {
  const checks = store.open(checkKind);
  const key = randomUUID();
  const count = (state: { writes: number }): void => {
    state.writes += 1;
  };
  return async () => {
    await checks.update(key, count, 'long');
    await checks.delete(key);
  };
};
