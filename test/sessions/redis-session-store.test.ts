import { type BudgetSession, createBudgetSession, ROOMY } from '@recourse/test-support/budget-session.ts';
import { createCallSession } from '@recourse/test-support/call-session.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import {
  connectToRedis,
  createRedisUnderTest,
  type StoreUnderTest,
  toJournalKey,
  toRedisKey,
} from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Admission, SessionStore } from '#src/executor/session-store.ts';
import { runSessionModel } from '#test/sessions/model/run-session-model.ts';

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  redis = await connectToRedis(server.url);
});

beforeEach(async () => {
  await redis.flushall();
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const create = (retries: Readonly<Record<string, number>> = {}): BudgetSession =>
  createBudgetSession(createRedisUnderTest(redis, ROOMY), retries);

const JOURNAL = { ...ROOMY, journal: 200 };
const LINE = { tool: 'a', json: '{"n":1}' };

test('a session is one hash and one list, and their keys have one hash tag of tenant and session', async () => {
  const session = createCallSession(createRedisUnderTest(redis, JOURNAL));
  await (await session.begin(['a 1', 'b 1'], 'turn_1')).end(['fails', '=1'], [LINE]);
  const key = `recourse2:{${session.key}}:session`;
  expect((await redis.keys('*')).sort()).toEqual([key, `${key}:list`]);
  expect([await redis.type(key), await redis.type(`${key}:list`)]).toEqual(['hash', 'list']);
});

test('a journal that finds no room is left out, and its session says so; one of which another replica is the only writer does not', async () => {
  let hasRoom = false;
  const subject = createRedisUnderTest(redis, JOURNAL, { mayKeepJournals: () => hasRoom });
  const session = createCallSession(subject);
  await (await session.begin(['a 1'])).end(['fails'], [LINE]);
  expect(await session.read()).toMatchObject({ rounds: 1, truncated: true, journal: [] });
  hasRoom = true;
  await (await session.begin(['a 2'])).end(['fails'], [LINE]);
  expect(await session.read()).toMatchObject({ rounds: 2, truncated: true, journal: [expect.anything()] });
  const other = createCallSession(subject);
  await (await other.begin(['a 1'])).end(['fails'], [LINE]);
  await redis.hset(toRedisKey(other.key), 'x', `${Date.now() + 20} w:another`);
  expect(await other.read()).not.toHaveProperty('truncated');
});

test('a field of a later version stays, whatever happens to the session', async () => {
  const subject = createRedisUnderTest(redis, JOURNAL);
  const session = createCallSession(subject);
  await (await session.begin(['a 1', 'b 1'])).end(['fails', '=1'], [LINE]);
  await redis.hset(toRedisKey(session.key), 'later', 'x');
  await (await session.begin(['a 2'], 'turn_1')).end(['=1'], [LINE]);
  await subject.store.reset(session.key, null);
  expect(await redis.hget(toRedisKey(session.key), 'later')).toBe('x');
});

test('a round of more lines than a lowered SESSION_JOURNAL keeps is in the journal once, and makes room for later calls', async () => {
  let { store } = createRedisUnderTest(redis, JOURNAL);
  const session = createCallSession({ store: { ...store, admit: (round) => store.admit(round) } });
  const write = async (json: readonly string[]): Promise<number> => {
    const round = await session.begin([`a ${json.join()}`]);
    await round.end(
      ['=1'],
      json.map((text) => ({ tool: 'a', json: text })),
    );
    return redis.llen(toJournalKey(session.key));
  };
  expect(await write(Array.from({ length: 60 }, (_, n) => `{"n":${n}}`))).toBe(1);
  store = createRedisUnderTest(redis, { ...ROOMY, journal: 5 }).store;
  for (let n = 0; n < 3; n += 1) expect(await write([`{"n":"refused ${n}","outcome":"refused"}`])).toBe(1);
  const lengths: number[] = [];
  for (let n = 60; n < 110; n += 1) lengths.push(await write([`{"n":${n}}`]));
  expect([lengths[0], lengths.at(-1)]).toEqual([2, 37]);
  const { journal } = await store.read(session.key);
  expect(journal.map((text) => JSON.parse(text).n)).toEqual(Array.from({ length: 37 }, (_, at) => at + 73));
});

/** A store that looks after each step whether the session would live for ever. */
const withLifetimeCheck = (subject: StoreUnderTest): StoreUnderTest => {
  const after = async <Answer>(key: string, step: Answer | Promise<Answer>): Promise<Answer> => {
    const answer = await step;
    const [session, journal] = [await redis.pttl(toRedisKey(key)), await redis.pttl(toJournalKey(key))];
    expect([session, journal]).not.toContain(-1);
    return answer;
  };
  const watched = (admission: Admission, key: string): Admission => ({
    ...admission,
    settle: (report) => after(key, admission.settle(report)),
    addLate: (json) => after(key, admission.addLate(json)),
  });
  const { store } = subject;
  const checked: SessionStore = {
    admit: async (round) => {
      const admission = await after(round.sessionKey, store.admit(round));
      expect(await redis.pttl(toRedisKey(round.sessionKey))).toBeGreaterThan(0);
      return watched(admission, round.sessionKey);
    },
    forecast: (round) => after(round.sessionKey, store.forecast(round)),
    resume: (late) => watched(store.resume(late), late.sessionKey),
    read: (key) => after(key, store.read(key)),
    end: (key) => after(key, store.end(key)),
    reset: (key, tool) => after(key, store.reset(key, tool)),
  };
  return { ...subject, store: checked };
};

test('no step of random sessions leaves a key without an expiry', { timeout: timeLimit(120_000) }, async () => {
  const seen = await runSessionModel((settings) => {
    const subject = withLifetimeCheck(createRedisUnderTest(redis, settings));
    return { ...subject, stores: [subject.store] };
  }, 200);
  expect(seen.size).toBeGreaterThan(8);
});

test('the journal expires with its session: the step that writes a line renews both', async () => {
  const { store } = createRedisUnderTest(redis, JOURNAL);
  const session = createCallSession({ store });
  const [key, journal] = [toRedisKey(session.key), toJournalKey(session.key)];
  const renewedBy = async (step: () => Promise<unknown>): Promise<readonly boolean[]> => {
    for (const one of [key, journal]) await redis.pexpire(one, 5_000);
    await step();
    return [(await redis.pttl(key)) > 500_000, (await redis.pttl(journal)) > 500_000];
  };
  const first = await session.begin(['a 1']);
  await first.end(['fails'], [LINE]);
  expect(await renewedBy(() => session.begin(['b 1']))).toEqual([true, false]);
  expect(await renewedBy(() => first.end(['over'], [LINE]))).toEqual([true, true]);
  expect(await renewedBy(() => first.admission.addLate('{}'))).toEqual([true, true]);
  expect(await renewedBy(() => store.reset(session.key, 'a'))).toEqual([true, false]);
  expect(await renewedBy(() => session.read())).toEqual([false, false]);
});

test('a new life begins without the journal of the one before, also where that comes without its hash', async () => {
  const session = createCallSession(createRedisUnderTest(redis, JOURNAL));
  for (const calls of [['a 1'], ['a 1', '_unknown -']]) {
    await redis.del(toRedisKey(session.key));
    await redis.rpush(toJournalKey(session.key), '{"of":"an earlier life"}');
    await session.begin(calls);
    expect(await redis.exists(toJournalKey(session.key))).toBe(0);
  }
});

test('each step sets the expiry anew, refusals too', async () => {
  const session = create({ x: 0 });
  const key = toRedisKey(session.key);
  const isRenewed = async () => {
    const left = await redis.pttl(key);
    await redis.pexpire(key, 5_000);
    return left > 500_000 && left <= 600_000;
  };
  await session.run({ x: 'S' });
  expect(await isRenewed()).toBe(true);
  const failing = await session.begin(['x']);
  expect(await isRenewed()).toBe(true);
  await failing.end({ x: 'F' });
  expect(await isRenewed()).toBe(true);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
  expect(await isRenewed()).toBe(true);
});

test('a session expires, and begins anew', async () => {
  const session = createBudgetSession(createRedisUnderTest(redis, { ...ROOMY, ttlMs: 30 }), { x: 0 });
  await session.run({ x: 'F' });
  await expect.poll(() => redis.exists(toRedisKey(session.key)), { timeout: timeLimit(10_000), interval: 5 }).toBe(0);
  expect((await session.begin(['x'])).decisions).toEqual(['free']);
});

test("a lease ends by the server's clock", async () => {
  const session = create({ x: 1 });
  await session.run({ x: 'F' });
  await session.begin(['x'], { leaseMs: 30 });
  const again = async () => (await session.begin(['x'], { leaseMs: 30_000 })).decisions[0];
  await expect.poll(again, { timeout: timeLimit(10_000), interval: 5 }).toBe('retry');
});

/** The commands that clients send while `act` runs; what scripts call is left out. */
const commandsOf = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
  const monitor = await redis.monitor();
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  monitor.on('monitor', (_time: string, [command = '', word = '']: readonly string[], source: string) => {
    if (command.toLowerCase() === 'echo' && word === 'the end') resolve();
    else if (source !== 'lua') seen.push(command.toUpperCase());
  });
  try {
    await act();
    await redis.echo('the end');
    await promise;
  } finally {
    monitor.disconnect();
  }
  return seen;
};

test('a step is one command', async () => {
  const { store } = createRedisUnderTest(redis, JOURNAL);
  const session = createCallSession({ store }, { x: { retries: 1 } });
  await session.play({ 'x 1': 'fails', 'y 1': '=1' });
  for (const step of [() => store.read(session.key), () => store.reset(session.key, null)]) await step();
  const twice = ['EVALSHA', 'EVALSHA'];
  expect(await commandsOf(() => session.play({ 'a 1': '=1', 'b 1': '=1' }))).toEqual(twice);
  expect(await commandsOf(() => session.play({ 'x 1': 'fails', 'a 1': 'fails' }, 'round'))).toEqual(twice);
  expect(await commandsOf(() => store.read(session.key))).toEqual(['HGETALL']);
  expect(await commandsOf(() => store.reset(session.key, 'x'))).toEqual(['EVALSHA']);
  expect(await commandsOf(() => store.end(session.key))).toEqual(['DEL']);
});

test('a server that has lost the scripts gets them again, at either step, and no step is taken twice', async () => {
  const session = create();
  await redis.script('FLUSH');
  const first = await session.begin(['x']);
  await redis.script('FLUSH');
  expect((await first.end({ x: 'F' }))('x')).toMatchObject({ failures: 1 });
  await redis.script('FLUSH');
  const retry = await session.begin(['x']);
  expect(retry.budgetOf('x')).toMatchObject({ failures: 1, used: 0, remaining: 1 });
});

test('one of four clients at once takes each retry, and none is taken twice', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => connectToRedis(server.url)));
  const settings = { ...ROOMY, sessionRetries: 200 };
  const key = 'tenant:four-clients';
  const sessions = clients.map((client) => createBudgetSession(createRedisUnderTest(client, settings), { x: 3 }, key));
  await sessions[0]?.run({ x: 'F' });
  const rounds = await Promise.all(
    Array.from({ length: 50 }, () => sessions.map((session) => session.run({ x: 'F' }))).flat(),
  );
  const decisions = rounds.flatMap((round) => round.decisions);
  expect(decisions).toHaveLength(200);
  expect(decisions.filter((decision) => decision === 'retry')).toHaveLength(3);
  for (const client of clients) client.disconnect();
});
