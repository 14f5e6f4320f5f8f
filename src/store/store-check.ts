import { randomUUID } from 'node:crypto';
import type { Kind, RecordStore } from './record-store.ts';

type Check = { writes: number };

const checkKind: Kind<Check, Check> = {
  name: 'check',
  operations: { short: 'connect', long: 'connect' },
  memory: { records: null, lists: null },
  ttlMs: 10_000,
  create: () => ({ writes: 0 }),
  decode: () => ({ writes: 0 }),
  toSaved: (state) => ({ ...state }),
  changes: ({ writes }) => ({ set: ['n', String(writes)], gone: [] }),
  takeAdded: () => [],
  toKeep: () => 0,
  isEmpty: ({ writes }) => writes === 0,
  bytes: () => 0,
};

/**
 * Asks a store whether it serves: it writes a record of this process's own, as every other step does, and deletes it. A user of
 * Redis that may connect may lack the right to write, and a replica or a full server answers what is only read.
 */
export const createStoreCheck = (store: RecordStore): (() => Promise<void>) => {
  const checks = store.open(checkKind);
  const key = randomUUID();
  return async () => {
    await checks.update(
      key,
      (state) => {
        state.writes += 1;
      },
      'long',
    );
    await checks.delete(key);
  };
};
