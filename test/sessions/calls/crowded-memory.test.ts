import { expect, test } from 'vitest';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { accept, openEmbeddedCalls, SURE, take } from '#test/support/call-records-under-test.ts';

test('calls that have not ended stay in a memory that is full; of those that have ended the oldest give way', async () => {
  // Room for two or three results.
  const memory = createStoreMemory({ totalBytes: 400_000 });
  const records = await openEmbeddedCalls(createMemoryRecordStore({ memory, now: Date.now }), Date.now);
  const sessionKey = 'tenant:session-of-many';
  const keys: string[] = [];
  for (let count = 0; count < 20; count += 1) keys.push(await accept(records, { sessionKey }));
  const known = async () => (await Promise.all(keys.map((key) => records.find(key)))).filter((found) => found !== null);
  expect(await known()).toHaveLength(20);
  expect(await records.ofSession(sessionKey)).toEqual(keys);
  for (const key of keys) await records.commit((await take(records, key)).lease, '{}', SURE);
  const left = await known();
  expect(left.length).toBeGreaterThan(0);
  expect(left.length).toBeLessThan(5);
  expect(await records.find(keys.at(-1) ?? '')).toMatchObject({ result: '{}' });
});
