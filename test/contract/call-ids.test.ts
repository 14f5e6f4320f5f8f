import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import {
  type Actor,
  codesOf,
  createActor,
  fail,
  freshName,
  type KeyedClient,
  startLab,
  warningsOf,
} from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { startWiredLab } from '@recourse/test-support/start-wired-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Stores } from '#src/wiring/wire-store.ts';

let redis: RedisForTests;
let directory: string;
beforeAll(async () => {
  redis = await redisForTests();
  directory = mkdtempSync(join(tmpdir(), 'recourse-call-ids-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await redis.stop();
});

type Store = 'memory' | 'sqlite' | 'redis';

const environmentOf = (store: Store): Readonly<Record<string, string>> => {
  if (store === 'redis') return { REDIS_URL: redis.url };
  return store === 'memory' ? {} : { STORE: `sqlite:${join(directory, `${freshName()}.db`)}` };
};

const WRITE = { effects: 'write' } as const;

const writing = (id: unknown, n: number, name = 'write') => ({ id, name, arguments: { n } });

/** Sends calls whose ids are keys. */
const sendTo =
  ({ post }: Pick<KeyedClient, 'post'>) =>
  (session: string | null, calls: readonly unknown[], more: object = {}, sent: object = {}) =>
    post({ session_id: session, idempotency: 'call_id', calls, ...more }, sent);

/** A write that waits to be let go. */
const createHeldWrite = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const write = createActor('write', WRITE, async ({ n }) => {
    await promise;
    return n;
  });
  return { write, release: () => resolve() };
};

describe.each(['memory', 'sqlite', 'redis'] as const)('ids of calls as keys, on %s', (store) => {
  const start = async (actors: readonly Pick<Actor, 'tool'>[], more: Readonly<Record<string, string>> = {}) => {
    const lab = await startLab(actors, { ...environmentOf(store), ...more });
    return { ...lab, send: sendTo(lab) };
  };

  test('a write sent again with its id runs once, in whichever batch and place, and reads run each time', async () => {
    const [write, look] = [createActor('write', WRITE), createActor('look')];
    const { send, session } = await start([write, look]);
    const id = freshName();
    const first = await send(id, [writing('a', 1), { id: 'b', name: 'look' }]);
    expect(codesOf(first)).toEqual(['ok', 'ok']);
    expect(first.results.map(({ replayed }) => replayed)).toEqual([undefined, undefined]);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const again = await send(id, [{ id: 'b', name: 'look' }, writing('c', 2), writing('a', 1)]);
    expect(again.results.map(({ index, id: of, value, replayed }) => [index, of, value, replayed])).toEqual([
      [0, 'b', {}, undefined],
      [1, 'c', { n: 2 }, undefined],
      [2, 'a', { n: 1 }, true],
    ]);
    const before = await session(id);
    const alone = await send(id, [writing('a', 1)]);
    expect([alone.results[0]?.index, alone.headers.get('idempotent-replayed')]).toEqual([0, 'true']);
    // A batch of nothing but replays is no round.
    expect(await session(id)).toEqual(before);
    expect([write.asked, look.asked.length]).toEqual([[{ n: 1 }, { n: 2 }], 2]);
  });

  test('a failure that ran is replayed and costs nothing again', async () => {
    const write = createActor('write', WRITE, fail);
    const { send, session } = await start([write]);
    const id = freshName();
    const first = await send(id, [writing('a', 1)]);
    expect(codesOf(first)).toEqual(['tool_exception']);
    const before = await session(id);
    const again = await send(id, [writing('a', 1)]);
    expect(again.results[0]).toEqual({ ...first.results[0], replayed: true });
    expect(await session(id)).toEqual(before);
    expect(write.asked).toHaveLength(1);
  });

  test('an id with another name or other arguments is invalid_call, also while the first runs', async () => {
    const { write, release } = createHeldWrite();
    const other = createActor('other', WRITE);
    const { send } = await start([write, other]);
    const id = freshName();
    const first = send(id, [writing('a', 1)]);
    await expect.poll(() => write.asked).toHaveLength(1);
    const changed = await send(id, [writing('a', 2)]);
    release();
    expect(codesOf(await first)).toEqual(['ok']);
    const renamed = await send(id, [writing('a', 1, 'other'), writing('b', 1, 'other')]);
    expect(codesOf(renamed)).toEqual(['invalid_call', 'ok']);
    for (const { results } of [changed, renamed])
      expect(results[0]).toMatchObject({ outcome: 'retry', executed: 'no', retry: null });
    expect(renamed.results[0]?.message).toContain('Send it with an id of its own.');
    expect((await send(id, [writing('a', 1)])).results[0]).toMatchObject({ value: 1, replayed: true });
    expect([write.asked.length, other.asked.length]).toEqual([1, 1]);
  });

  test('calls in flight under an id are joined: one runs, and all get its result', async () => {
    const { write, release } = createHeldWrite();
    const { send, service } = await start([write]);
    const id = freshName();
    const asked = [0, 1, 2].map((place) => send(id, [...Array(place).fill({ name: 'nix' }), writing('a', 1)]));
    await expect.poll(() => write.asked).toHaveLength(1);
    release();
    const ends = (await Promise.all(asked)).map(({ results }) => results.at(-1));
    expect(ends.map((end) => [end?.index, end?.value])).toEqual([0, 1, 2].map((index) => [index, 1]));
    expect(ends.filter((end) => end?.replayed === true)).toHaveLength(2);
    expect(write.asked).toHaveLength(1);
    expect(await service.metric('recourse_idempotency_total{result="joined"}')).toBe(2);
  });

  test('what cannot be a key is refused before it runs, and reads run without one', async () => {
    const [write, look] = [createActor('write', WRITE), createActor('look')];
    const { send } = await start([write, look]);
    const wrong = [7, 1.5, null, undefined, '', true, {}, ['a']];
    const answer = await send(freshName(), [
      ...wrong.map((id, n) => writing(id, n)),
      ...wrong.map((id) => ({ id, name: 'look' })),
      'no call',
      { id: 'x', name: 'nix' },
    ]);
    expect(codesOf(answer)).toEqual([
      ...wrong.map(() => 'invalid_call'),
      ...wrong.map(() => 'ok'),
      'invalid_call',
      'unknown_tool',
    ]);
    expect(answer.results[0]).toMatchObject({ executed: 'no', retry: null });
    const without = await send(null, [writing('a', 1), { id: 'b', name: 'look' }]);
    expect(codesOf(without)).toEqual(['invalid_call', 'ok']);
    expect(without.results[0]?.message).toContain('session_id');
    expect([write.asked.length, look.asked.length]).toEqual([0, wrong.length + 1]);
  });

  test('an id twice in a batch is one call where it says the same, and the second is refused where it does not', async () => {
    const write = createActor('write', WRITE);
    const { send } = await start([write, createActor('look')]);
    const id = freshName();
    const calls = [writing('a', 1), writing('a', 1), writing('a', 2), { id: 'a', name: 'look', arguments: { n: 3 } }];
    const first = await send(id, calls);
    expect(codesOf(first)).toEqual(['ok', 'ok', 'invalid_call', 'ok']);
    expect(first.results.map(({ replayed }) => replayed)).toEqual([undefined, true, undefined, undefined]);
    const again = await send(id, [calls[1], calls[0]]);
    expect(again.results.map(({ index, replayed }) => [index, replayed])).toEqual([
      [0, true],
      [1, true],
    ]);
    expect(write.asked).toEqual([{ n: 1 }]);
  });

  test('a call that did not run runs when it is sent again', async () => {
    const [write, breaks] = [createActor('write', WRITE), createActor('breaks', {}, fail)];
    const { send } = await start([write, breaks]);
    const id = freshName();
    const stopped = await send(id, [{ id: 'b', name: 'breaks' }, writing('a', 1)], {
      order: 'sequential',
      on_error: 'stop',
    });
    expect(codesOf(stopped)).toEqual(['tool_exception', 'not_executed']);
    const again = await send(id, [writing('a', 1)]);
    expect(again.results[0]).toMatchObject({ value: { n: 1 } });
    expect(again.results[0]?.replayed).toBeUndefined();
  });

  test('the id belongs to its session and its tenant, and is apart from keys of batches', async () => {
    const write = createActor('write', WRITE);
    const keys = { API_KEYS: [toKeyEntry('one', 'a'), toKeyEntry('two', 'b')].join(',') };
    const { send, post } = await start([write], keys);
    const [id, other] = [freshName(), freshName()];
    const calls = [writing('a', 1)];
    const ran = [
      await send(id, calls, {}, { apiKey: 'a' }),
      await send(other, calls, {}, { apiKey: 'a' }),
      await send(id, calls, {}, { apiKey: 'b' }),
      await post({ session_id: id, calls }, { apiKey: 'a', key: JSON.stringify([id, 'a']) }),
      await post({ session_id: id, calls }, { apiKey: 'a' }),
    ];
    expect(ran.map(({ results }) => results[0]?.replayed)).toEqual(ran.map(() => undefined));
    expect(write.asked).toHaveLength(ran.length);
    expect((await send(id, calls, {}, { apiKey: 'b' })).results[0]?.replayed).toBe(true);
  });

  test('results say whether the ids outlive this process', async () => {
    const { send } = await start([createActor('write', WRITE)]);
    const { results } = await send(freshName(), [writing('a', 1)]);
    expect(warningsOf(results[0])).toEqual(store === 'memory' ? ['idempotency_not_durable'] : []);
  });
});

test('a key of the header beside ids as keys is refused, and so is another word for what a key is', async () => {
  const write = createActor('write', WRITE);
  const { post } = await startLab([write]);
  const body = { session_id: freshName(), idempotency: 'call_id', calls: [writing('a', 1)] };
  expect(await post(body, { key: freshName() })).toMatchObject({ status: 400, problem: 'invalid_idempotency_key' });
  expect(await post({ ...body, idempotency: 'id' })).toMatchObject({ status: 400, problem: 'invalid_envelope' });
  expect(write.asked).toHaveLength(0);
  expect(codesOf(await post({ ...body, idempotency: null }, { key: freshName() }))).toEqual(['ok']);
});

test('two replicas run a call once, and one that is stopped leaves what it did not begin to the other', async () => {
  const { write, release } = createHeldWrite();
  const one = await startLab([write], { REDIS_URL: redis.url });
  const two = await startLab([write], { REDIS_URL: redis.url });
  const id = freshName();
  const calls = [writing('a', 1), writing('b', 2)];
  const first = sendTo(one)(id, calls, { order: 'sequential' });
  await expect.poll(() => write.asked).toHaveLength(1);
  const second = sendTo(two)(id, calls);
  one.service.drain();
  release();
  expect(codesOf(await first)).toEqual(['ok', 'shutting_down']);
  expect((await second).results.map(({ value, replayed }) => [value, replayed])).toEqual([
    [1, true],
    [2, undefined],
  ]);
  expect(write.asked).toEqual([{ n: 1 }, { n: 2 }]);
});

/** Stores that open records one by one, each after a while: batches that come at once come between each other. */
const openSlowly = (stores: Stores): Stores => {
  let opened = 0;
  const open: Stores['keys']['open'] = async (batch) => {
    opened += 1;
    await new Promise((resolve) => setTimeout(resolve, (opened * 7) % 20));
    return stores.keys.open(batch);
  };
  return { ...stores, keys: { ...stores.keys, open } };
};

test('batches with the same calls in other orders do not wait for each other', async () => {
  const write = createActor('write', WRITE);
  const lab = await startWiredLab([write], { wrapStores: openSlowly });
  const id = freshName();
  const calls = Array.from({ length: 8 }, (_, n) => writing(`call ${n}`, n));
  const orders = [calls, calls.toReversed(), [...calls.slice(4), ...calls.slice(0, 4)]];
  // Less than a lease: what is let go is not waited for.
  const answers = await Promise.all(orders.map((order) => sendTo(lab)(id, order, { deadline_ms: 4000 })));
  for (const answer of answers) expect(codesOf(answer)).toEqual(calls.map(() => 'ok'));
  expect(write.asked.map(({ n }) => n).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('a request that waits for a call while Redis goes away is not told that it did not run', async () => {
  const server = await redisForTests();
  if (server.own === null) return;
  const { write, release } = createHeldWrite();
  const opened: string[] = [];
  const watchOpens = (stores: Stores): Stores => {
    const open: Stores['keys']['open'] = async (batch) => {
      const opening = await stores.keys.open(batch);
      opened.push(opening.kind);
      return opening;
    };
    return { ...stores, keys: { ...stores.keys, open } };
  };
  const lab = await startWiredLab([write], { wrapStores: watchOpens }, { REDIS_URL: server.url });
  const id = freshName();
  const first = sendTo(lab)(id, [writing('a', 1)]);
  await expect.poll(() => write.asked).toHaveLength(1);
  const joined = sendTo(lab)(id, [{ id: 'b', name: 'nix' }, writing('a', 1)]);
  await expect.poll(() => opened).toContain('in_flight');
  await server.own.kill();
  expect((await joined).results[1]).toMatchObject({ executed: 'maybe', error: { code: 'outcome_unknown' } });
  release();
  expect(codesOf(await first)).toEqual(['ok']);
  await server.stop();
});

test('a call whose tool is not here is what an earlier try at another replica has left of it', async () => {
  const { write, release } = createHeldWrite();
  const one = await startLab([write], { REDIS_URL: redis.url });
  const two = await startLab([createActor('other', WRITE)], { REDIS_URL: redis.url });
  const id = freshName();
  expect(codesOf(await sendTo(two)(id, [writing('a', 1), writing('b', 2)]))).toEqual(['unknown_tool', 'unknown_tool']);
  const first = sendTo(one)(id, [writing('a', 1)]);
  await expect.poll(() => write.asked).toHaveLength(1);
  const joined = sendTo(two)(id, [writing('a', 1)]);
  release();
  expect(codesOf(await first)).toEqual(['ok']);
  expect((await joined).results[0]).toMatchObject({ value: 1, replayed: true });
  expect(codesOf(await sendTo(two)(id, [writing('b', 2)]))).toEqual(['unknown_tool']);
  expect(write.asked).toHaveLength(1);
});

test('what a write comes to after its time limit is what a repeat is told', async () => {
  const { write, release } = createHeldWrite();
  const lab = await startLab([write]);
  const id = freshName();
  const first = await sendTo(lab)(id, [{ ...writing('a', 1), timeout_ms: 20 }]);
  expect(codesOf(first)).toEqual(['timeout']);
  release();
  await expect
    .poll(async () => (await sendTo(lab)(id, [{ ...writing('a', 1), timeout_ms: 20 }])).results[0])
    .toMatchObject({ success: true, value: 1, replayed: true });
  expect(write.asked).toHaveLength(1);
});

test('while Redis is away writes with ids as keys do not run, reads do, and later both do', async () => {
  const server = await redisForTests();
  if (server.own === null) return;
  const [look, write] = [createActor('look'), createActor('write', WRITE)];
  const lab = await startLab([look, write], { REDIS_URL: server.url });
  await server.own.kill();
  const id = freshName();
  const calls = [{ id: 'b', name: 'look' }, writing('a', 1)];
  const away = await sendTo(lab)(id, calls);
  expect(codesOf(away)).toEqual(['ok', 'store_unavailable']);
  expect(away.results[1]).toMatchObject({ outcome: 'refused', executed: 'no', retry: null });
  await server.own.restart();
  await expect
    .poll(async () => codesOf(await sendTo(lab)(id, calls)), { timeout: timeLimit(15_000) })
    .toEqual(['ok', 'ok']);
  expect((await sendTo(lab)(id, calls)).results[1]?.replayed).toBe(true);
  expect(write.asked).toHaveLength(1);
  await server.stop();
});

test('a batch whose time is over while another request runs its call says that it may have happened', async () => {
  const { write, release } = createHeldWrite();
  const lab = await startLab([write]);
  const id = freshName();
  const first = sendTo(lab)(id, [writing('a', 1)]);
  await expect.poll(() => write.asked).toHaveLength(1);
  const late = await sendTo(lab)(id, [writing('a', 1)], { deadline_ms: 100 });
  expect(late.results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe', error: { code: 'outcome_unknown' } });
  expect(late.results[0]?.message).toContain('with the same id');
  release();
  expect(codesOf(await first)).toEqual(['ok']);
});
