import { accept, openEmbeddedCalls, SURE, take } from '@recourse/test-support/call-records-under-test.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { createStoreMemory } from 'recourse-server/internal/memory/store-memory.ts';
import { createMemoryRecordStore } from 'recourse-server/internal/store/memory-record-store.ts';
import { expect, test } from 'vitest';
import type { CallLease } from '#src/calls/call-kind.ts';

test('calls that have not ended stay in a memory that is full; of those that have ended the oldest give way', async () => {
  // Room for two or three results.
  const memory = createStoreMemory({ totalBytes: 400_000 });
  const records = await openEmbeddedCalls(createMemoryRecordStore({ memory, now: Date.now }), Date.now);
  const sessionKey = 'tenant:session-of-many';
  const keys: string[] = [];
  for (let count = 0; count < 20; count += 1) keys.push(await accept(records, { sessionKey }));
  const known = async () => (await Promise.all(keys.map((key) => records.find(key)))).filter((found) => found !== null);
  expect(await known()).toHaveLength(20);
  expect(await records.sessions.list(sessionKey)).toEqual(keys);
  for (const key of keys) await records.commit((await take(records, key)).lease, '{}', SURE);
  const left = await known();
  expect(left.length).toBeGreaterThan(0);
  expect(left.length).toBeLessThan(5);
  expect(await records.find(keys.at(-1) ?? '')).toMatchObject({ result: '{}' });
});

test('a call that waits is found by a sweep however many others are held', async () => {
  const clock = createManualClock();
  const store = createMemoryRecordStore({ memory: roomyMemory(), now: clock.now });
  const records = await openEmbeddedCalls(store, clock.now);
  const held: CallLease[] = [];
  for (let count = 0; count < 60; count += 1) held.push((await take(records, await accept(records))).lease);
  const waiting = await accept(records);
  const found: string[] = [];
  for (let looks = 0; looks < 3; looks += 1) {
    clock.advance(15_001);
    for (const lease of held) await records.renew(lease, null);
    found.push(...(await records.due(5)));
  }
  expect(found).toContain(waiting);
});
