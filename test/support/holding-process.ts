import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createCallRecords } from '@recourse/background/calls/call-records';
import { createLocalSignals } from '@recourse/background/calls/call-signals';
import { createDueIndex, createDueIndexes } from '@recourse/background/jobs/due-index';
import { Job } from 'bullmq';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';

// A service that stops before or after a step of a pending call and waits there, so that a test can end or freeze its
// process exactly then. DEATHS_HOLDS names a directory: the file `hold-<handle>` (or `hold-any`) holds the name of the point
// at which that call waits; the process writes `held-<handle>` when it is there, and goes on once there is a file `go`.

const directory = process.env['DEATHS_HOLDS'] ?? '';
const POLL_MS = 20;

const pointOf = (handle: string): string | null => {
  const file = [`hold-${handle}`, 'hold-any'].find((name) => readdirSync(directory).includes(name));
  return file === undefined ? null : readFileSync(join(directory, file), 'utf8');
};

const holdAt = async (point: string, handle: string): Promise<void> => {
  if (pointOf(handle) !== point) return;
  writeFileSync(join(directory, `held-${handle}`), point);
  while (!existsSync(join(directory, 'go'))) await pause(POLL_MS);
};

type Points = { readonly before?: string; readonly after?: string };

/** Makes a method wait before or after it does its work, by the call that its words or its object name. */
const holdMethod = (
  owner: object,
  name: string,
  toHandle: (self: unknown, words: readonly unknown[]) => string,
  { before = '-', after = '-' }: Points,
): void => {
  const method: unknown = Reflect.get(owner, name);
  if (typeof method !== 'function') throw new Error(`There is no method ${name}.`);
  Reflect.set(owner, name, async function (this: unknown, ...words: readonly unknown[]): Promise<unknown> {
    const handle = toHandle(this, words);
    await holdAt(before, handle);
    const answer: unknown = await Reflect.apply(method, this, words);
    await holdAt(after, handle);
    return answer;
  });
};

const memberOf = (owner: unknown, name: string): string =>
  typeof owner === 'object' && owner !== null ? String(Reflect.get(owner, name)) : '';
const toHandleOfKey = (_self: unknown, [key]: readonly unknown[]): string => String(key).replace(/^.*:/, '');
const toHandleOfLease = (self: unknown, [lease]: readonly unknown[]): string =>
  toHandleOfKey(self, [memberOf(lease, 'key')]);
const toHandleOfJob = (self: unknown): string => memberOf(self, 'id');

// Nothing is asked of it: only its prototype is wanted, which all records of this process share.
const records: unknown = Object.getPrototypeOf(
  createCallRecords({
    ...({ durability: 'durable', budget: null, makingPauseMs: 1 } as const),
    store: createMemoryRecordStore({ memory: createStoreMemory({ totalBytes: 0 }), now: Date.now }),
    signals: createLocalSignals(),
    onReturn: () => undefined,
    limits: { ofSession: 1, ofKey: 1, ofService: 1 },
    live: createDueIndex({ limits: { ofHolder: 1, ofAll: 1 }, now: Date.now }),
    openSession: createDueIndexes({ limits: { ofHolder: 1, ofAll: 1 }, now: Date.now }),
  }),
);
if (typeof records !== 'object' || records === null) throw new Error('The records have no prototype.');

holdMethod(records, 'create', toHandleOfKey, { before: 'asked', after: 'created' });
holdMethod(records, 'confirm', toHandleOfKey, { after: 'confirmed' });
// Who accepts a call and waits for its end reads the record after the call is queued.
holdMethod(records, 'find', toHandleOfKey, { before: 'queued' });
holdMethod(records, 'claim', toHandleOfKey, { before: 'fetched' });
holdMethod(records, 'begin', toHandleOfLease, { before: 'leased', after: 'begun' });
holdMethod(records, 'commit', toHandleOfLease, { before: 'ended' });
holdMethod(Job.prototype, 'moveToCompleted', toHandleOfJob, { before: 'committed', after: 'acknowledged' });

await import('#src/main.ts');
