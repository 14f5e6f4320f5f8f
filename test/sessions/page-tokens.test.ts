import { expect, test } from 'vitest';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createMemoryPageTokens } from '#src/sessions/memory-page-tokens.ts';
import { createRedisPageTokens } from '#src/sessions/redis-page-tokens.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import {
  createPageList,
  describePageTokens,
  PAGE_TTL_MS,
  type PageTokensUnderTest,
} from '#test/sessions/promises/describe-page-tokens.ts';
import { roomyMemory } from '#test/support/roomy-memory.ts';
import { createManualClock, createStoreLog, toRedisClient, useRedis } from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

const createMemory = (): PageTokensUnderTest => {
  const clock = createManualClock();
  return {
    store: createMemoryPageTokens({ ttlMs: PAGE_TTL_MS, memory: roomyMemory(), now: clock.now }),
    expire: async (ms) => clock.advance(ms),
  };
};

/** The server's clock goes by itself: the time that is left to each key is made shorter instead. */
const createInRedis = (): PageTokensUnderTest & { readonly log: ReturnType<typeof createStoreLog> } => {
  const clock = createManualClock();
  const log = createStoreLog();
  const availability = createStoreAvailability({
    observer: log.observer,
    now: () => performance.now(),
    onRecovered: () => undefined,
  });
  const client = toRedisClient(redis());
  const shorten = async (key: string, ms: number): Promise<void> => {
    const left = await redis().pttl(key);
    if (left > 0) await redis().pexpire(key, Math.max(0, left - ms));
  };
  return {
    store: createRedisPageTokens({ client, availability, ttlMs: PAGE_TTL_MS, memory: roomyMemory(), now: clock.now }),
    expire: async (ms) => {
      clock.advance(ms);
      for (const key of await redis().keys('recourse:*:pages')) await shorten(key, ms);
    },
    log,
  };
};

describePageTokens('memory', createMemory);
describePageTokens('Redis', createInRedis);

const keysOf = (session: string): Promise<string[]> => redis().keys(`recourse:{${session}}*`);

test('what Redis holds is one hash a session, beside it and with an end', async () => {
  const { store } = createInRedis();
  const list = createPageList();
  await store.keep(list, 2, 'token');
  await store.keep({ ...list, tool: 'list_emails' }, 3, 'other');
  const key = `recourse:{${list.session}}:pages`;
  expect(await keysOf(list.session)).toEqual([key]);
  expect(Object.values(await redis().hgetall(key))).toEqual(expect.arrayContaining(['token', 'other']));
  const left = await redis().pttl(key);
  expect(left).toBeGreaterThan(30_000);
  expect(left).toBeLessThanOrEqual(60_000);
});

test('1 280 searches of one session leave 200 pages of it', async () => {
  const { store } = createInRedis();
  const { session } = createPageList();
  for (let at = 0; at < 1280; at += 1) await store.keep(createPageList({ session, query: `q${at}` }), 2, `token-${at}`);
  expect(await keysOf(session)).toEqual([`recourse:{${session}}:pages`]);
  const held = await redis().hgetall(`recourse:{${session}}:pages`);
  const tokens = Object.values(held).filter((value) => value.startsWith('token-'));
  expect(tokens).toHaveLength(200);
  // The tokens, which page came where, and how many came.
  expect(Object.keys(held)).toHaveLength(401);
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
});

const fieldOf = async (key: string): Promise<string> =>
  Object.keys(await redis().hgetall(key)).find((field) => /^[0-9a-f]{64}:2$/.test(field)) ?? '';

test.each([
  ['a text that is no token', 'a\u0000b'],
  ['an empty text', ''],
  ['a text that is too long', 'x'.repeat(5000)],
])('%s in the place of a token reads as none, takes nothing away and is written over', async (_what, damage) => {
  const [writer, reader] = [createInRedis(), createInRedis()];
  const list = createPageList();
  await writer.store.keep(list, 2, 'token');
  const [key = ''] = await keysOf(list.session);
  const field = await fieldOf(key);
  await redis().hset(key, field, damage);
  expect(await reader.store.find(list, 2)).toBeNull();
  expect(reader.log.failed).toEqual([]);
  expect(reader.log.states).toEqual([]);
  await reader.store.keep(list, 2, 'anew');
  expect(await redis().hget(key, field)).toBe('anew');
});

test.each([
  ['a text', (key: string) => redis().set(key, 'a')],
  ['a list', (key: string) => redis().rpush(key, 'a')],
  ['a count that is none', (key: string) => redis().hset(key, 'count', 'many')],
])('%s in the place of the pages takes nothing away and is written over', async (_what, damage) => {
  const { store, log } = createInRedis();
  const list = createPageList();
  const key = `recourse:{${list.session}}:pages`;
  await damage(key);
  expect(await store.find(list, 2)).toBeNull();
  await store.keep(list, 2, 'token');
  expect(await redis().hget(key, await fieldOf(key))).toBe('token');
  expect(await createInRedis().store.find(list, 2)).toBe('token');
  expect(log.states).toEqual([]);
});

test('after everything in Redis is gone, every replica begins again', async () => {
  const [one, other] = [createInRedis(), createInRedis()];
  const list = createPageList();
  await one.store.keep(list, 2, 'token');
  await redis().del(...(await keysOf(list.session)));
  expect([await one.store.find(list, 2), await other.store.find(list, 2)]).toEqual([null, null]);
});

test('reading a page does not bring back a Redis that is known to be away, keeping one does', async () => {
  const watched = Promise.withResolvers<() => void>();
  const { observer } = createStoreLog();
  const availability = createStoreAvailability({
    observer,
    // Each question may be a probe.
    now: (() => {
      let time = 0;
      return () => (time += 10_000);
    })(),
    onRecovered: () => undefined,
    store: { watch: ({ lost }) => watched.resolve(lost) },
  });
  const store = createRedisPageTokens({
    client: toRedisClient(redis()),
    availability,
    ttlMs: 1000,
    memory: roomyMemory(),
    now: () => 1,
  });
  const list = createPageList();
  (await watched.promise)();
  await store.find(list, 2);
  expect(availability.isUp()).toBe(false);
  await store.keep(list, 2, 'token');
  expect(availability.isUp()).toBe(true);
});

test('a page that was kept while Redis was away is found as long as Redis takes no writes, though it reads', async () => {
  const watched = Promise.withResolvers<() => void>();
  const clock = createManualClock();
  const availability = createStoreAvailability({
    observer: createStoreLog().observer,
    now: clock.now,
    onRecovered: () => undefined,
    store: { watch: ({ lost }) => watched.resolve(lost) },
  });
  const store = createRedisPageTokens({
    client: toRedisClient(redis()),
    availability,
    ttlMs: PAGE_TTL_MS,
    memory: roomyMemory(),
    now: clock.now,
  });
  const list = createPageList();
  (await watched.promise)();
  await store.keep(list, 2, 'token');
  expect(await keysOf(list.session)).toEqual([]);
  clock.advance(2000);
  expect(await store.find(list, 2)).toBe('token');
  expect(availability.isUp()).toBe(false);
});

test('a process forgets all its pages at once, and keeps new ones', async () => {
  const store = createMemoryPageTokens({ ttlMs: PAGE_TTL_MS, memory: roomyMemory(), now: () => 1 });
  const lists = [createPageList(), createPageList()];
  for (const list of lists) await store.keep(list, 2, 'token');
  store.clear();
  expect(await Promise.all(lists.map((list) => store.find(list, 2)))).toEqual([null, null]);
  for (const list of lists) await store.keep(list, 3, 'anew');
  expect(await Promise.all(lists.map((list) => store.find(list, 3)))).toEqual(['anew', 'anew']);
});

// A fiftieth of it is for pages.
const createSmall = (pageBytes: number) =>
  createMemoryPageTokens({
    ttlMs: PAGE_TTL_MS,
    now: () => 1,
    memory: createStoreMemory({ totalBytes: 50 * pageBytes }),
  });

test('a process keeps no more bytes than it may, and forgets the pages that were not used for the longest time first', async () => {
  const store = createSmall(11_000);
  const list = createPageList();
  for (const page of [2, 3]) await store.keep(list, page, 'x'.repeat(4000));
  expect(await store.find(list, 2)).not.toBeNull();
  await store.keep(list, 4, 'x'.repeat(4000));
  const found = await Promise.all([2, 3, 4].map((page) => store.find(list, page)));
  expect(found.map((token) => token?.length ?? 0)).toEqual([4000, 0, 4000]);
});

test('pages that a process has forgotten leave nothing of their session behind', async () => {
  const store = createSmall(11_000);
  const [list, other] = [createPageList(), createPageList()];
  await store.keep(list, 2, 'x'.repeat(4000));
  for (const page of [2, 3]) await store.keep(other, page, 'x'.repeat(4000));
  expect(await store.find(list, 2)).toBeNull();
  await store.keep(list, 2, 'anew');
  await store.forget(other.session);
  expect(await store.find(list, 2)).toBe('anew');
  expect([await store.find(other, 2), await store.find(other, 3)]).toEqual([null, null]);
});
