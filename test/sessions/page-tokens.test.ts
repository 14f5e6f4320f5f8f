import { createMemoryPageTokens } from '@recourse/test-support/memory-page-tokens.ts';
import {
  openMemoryRecords,
  openRedisRecords,
  openSqliteRecords,
} from '@recourse/test-support/record-stores-under-test.ts';
import { createGuarded, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createRecordPageTokens } from '#src/sessions/record-page-tokens.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import {
  createPageList,
  describePageTokens,
  PAGE_TTL_MS,
  type PageTokensUnderTest,
} from '#test/sessions/promises/describe-page-tokens.ts';

const redis = useRedis();

const createOn = (store: RecordStore, local: RecordStore | null = null) =>
  createRecordPageTokens({ store, local, ttlMs: PAGE_TTL_MS });

const createEmbedded = (open: typeof openMemoryRecords) => (): PageTokensUnderTest => {
  const { store, pass } = open();
  return { store: createOn(store), expire: async (ms) => pass(ms) };
};

/** The server's clock goes by itself: the time that is left to each key is made shorter instead. */
const expire = async (ms: number): Promise<void> => {
  for (const key of await redis().keys('recourse2:*:pages')) {
    const left = await redis().pttl(key);
    if (left > 0) await redis().pexpire(key, Math.max(0, left - ms));
  }
};

const createInRedis = () => {
  const [store] = openRedisRecords([redis()]).stores;
  if (store === undefined) throw new Error('There is one.');
  const { records, log } = createGuarded(store);
  const pages = createOn(records, openMemoryRecords().store);
  return { store: pages, expire, log } satisfies PageTokensUnderTest & { readonly log: typeof log };
};

describePageTokens('memory', createEmbedded(openMemoryRecords));
describePageTokens('SQLite', createEmbedded(openSqliteRecords));
describePageTokens('Redis', createInRedis);

const toKey = (session: string): string => `recourse2:{${session}}:pages`;
const keysOf = (session: string): Promise<string[]> => redis().keys(`recourse2:{${session}}*`);

test('what Redis holds is one hash a session, with an end', async () => {
  const { store } = createInRedis();
  const list = createPageList();
  await store.keep(list, 2, 'token');
  await store.keep({ ...list, tool: 'list_emails' }, 3, 'other');
  expect(await keysOf(list.session)).toEqual([toKey(list.session)]);
  expect(Object.values(await redis().hgetall(toKey(list.session)))).toEqual(
    expect.arrayContaining(['0 token', '1 other']),
  );
  const left = await redis().pttl(toKey(list.session));
  expect(left).toBeGreaterThan(30_000);
  expect(left).toBeLessThanOrEqual(60_000);
});

test('300 searches of one session leave 200 pages of it', async () => {
  const { store } = createInRedis();
  const { session } = createPageList();
  for (let at = 0; at < 300; at += 1) await store.keep(createPageList({ session, query: `q${at}` }), 2, `token-${at}`);
  const fields = Object.keys(await redis().hgetall(toKey(session)));
  expect(fields.filter((field) => field.startsWith('p:'))).toHaveLength(200);
});

test('two replicas share their pages', async () => {
  const [one, other] = [createInRedis(), createInRedis()];
  const list = createPageList();
  await one.store.keep(list, 2, 'of one');
  expect(await other.store.find(list, 2)).toBe('of one');
  await other.store.keep(list, 2, 'of the other');
  expect(await one.store.find(list, 2)).toBe('of the other');
});

test('a session that has ended at one replica has ended at all, also for pages that another one kept', async () => {
  const [one, other] = [createInRedis(), createInRedis()];
  const list = createPageList();
  await one.store.keep(list, 2, 'of one');
  await other.store.keep(list, 3, 'of the other');
  await one.store.forget(list.session);
  expect(await keysOf(list.session)).toEqual([]);
  const found = [one, other].flatMap(({ store }) => [store.find(list, 2), store.find(list, 3)]);
  expect(await Promise.all(found)).toEqual([null, null, null, null]);
  await other.store.keep(list, 2, 'anew');
  expect([await one.store.find(list, 2), await one.store.find(list, 3)]).toEqual(['anew', null]);
});

test.each([
  ['a text that is no token', 'a\u0000b'],
  ['an empty text', ''],
  ['a token that is too long', `0 ${'x'.repeat(5000)}`],
])('%s in the place of a page reads as none, takes nothing away and is written over', async (_what, damage) => {
  const [writer, reader] = [createInRedis(), createInRedis()];
  const list = createPageList();
  await writer.store.keep(list, 2, 'token');
  const key = toKey(list.session);
  const field = Object.keys(await redis().hgetall(key)).find((name) => name.startsWith('p:')) ?? '';
  await redis().hset(key, field, damage);
  expect(await reader.store.find(list, 2)).toBeNull();
  expect([reader.log.failed, reader.log.states]).toEqual([[], []]);
  await reader.store.keep(list, 2, 'anew');
  expect(await redis().hget(key, field)).toBe('0 anew');
});

test('after everything in Redis is gone, every replica begins again', async () => {
  const [one, other] = [createInRedis(), createInRedis()];
  const list = createPageList();
  await one.store.keep(list, 2, 'token');
  await redis().del(toKey(list.session));
  expect([await one.store.find(list, 2), await other.store.find(list, 2)]).toEqual([null, null]);
  await one.store.keep(list, 3, 'anew');
  expect([await other.store.find(list, 2), await other.store.find(list, 3)]).toEqual([null, 'anew']);
});

test('while the store is known to be away it is not asked, and pages of this process are found', async () => {
  const watched = Promise.withResolvers<() => void>();
  const [redisRecords] = openRedisRecords([redis()]).stores;
  if (redisRecords === undefined) throw new Error('There is one.');
  const { records, availability } = createGuarded(redisRecords, {
    connection: { onLost: watched.resolve, onReady: () => undefined, isReady: () => false },
  });
  const store = createOn(records, openMemoryRecords().store);
  const list = createPageList();
  (await watched.promise)();
  await store.keep(list, 2, 'token');
  expect(await keysOf(list.session)).toEqual([]);
  expect(await store.find(list, 2)).toBe('token');
  expect(availability.isUp()).toBe(false);
});

test('a process keeps no more bytes than it may, and forgets the session first whose pages were kept first', async () => {
  const store = createMemoryPageTokens({
    ttlMs: PAGE_TTL_MS,
    now: () => 1,
    // Three hundredths of it are for pages.
    memory: createStoreMemory({ totalBytes: 11_000 / 0.03 }),
  });
  const lists = [createPageList(), createPageList(), createPageList()];
  for (const list of lists) await store.keep(list, 2, 'x'.repeat(4000));
  const found = await Promise.all(lists.map((list) => store.find(list, 2)));
  expect(found.map((token) => token?.length ?? 0)).toEqual([0, 4000, 4000]);
});
