import { type Actor, codesOf, createActor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

// Redis that answers, and late: what must be durable waits for it.

const RECOVERY = { timeout: timeLimit(20_000), interval: 50 };

const start = async (actors: readonly Actor[]) => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const proxy = await startTcpProxy({ to: server.port });
  onTestFinished(proxy.close);
  const direct = await connectToRedis(server.url);
  onTestFinished(() => direct.disconnect());
  const lab = await startLab(actors, { REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
  return { ...lab, proxy, direct, pending: createPendingClient(lab.service.url) };
};

// In the record of a pending call, as it is written with these steps.
const [CREATED, CONFIRMED, BEGUN] = ['"confirmed":false', '"confirmed":true', '"state":"running"'] as const;

// In the commands of an idempotency record: the key of the record, a call that has begun, and the key of the answer.
const [OPENED, MARKED, NAMED] = [':keyed\r\n', '\r\nr:0\r\n$0\r\n', ':answer\r\n'] as const;

const createWrite = (name = 'write', rest: Parameters<typeof createActor>[1] = {}) =>
  createActor(name, { effects: 'write', ...rest }, () => 'written');

const callsOf = (name: string) => [{ name, arguments: { only: freshName() } }];

test.each([80, 200])('each answer of Redis comes %i ms late: keyed writes and pending calls are taken', async (ms) => {
  const [write, queued] = [createWrite(), createWrite('queued', { background: 'always' })];
  const { post, pending, proxy } = await start([write, queued]);
  proxy.delay(ms / 2);
  const session_id = freshName();
  for (let count = 0; count < 3; count += 1) {
    const kept = await post({ session_id, calls: callsOf('write') }, { key: freshName() });
    expect([kept.status, codesOf(kept), kept.results[0]?.warnings ?? []]).toEqual([200, ['ok'], []]);
  }
  for (let count = 0; count < 1; count += 1) {
    const taken = await pending.begin({ session_id, calls: callsOf('queued') });
    expect([taken.status, taken.state]).toEqual([202, 'pending']);
    expect(await pending.finish(taken.requestId)).toMatchObject({ state: 'done', results: [{ value: 'written' }] });
  }
  expect([write.asked.length, queued.asked.length]).toEqual([3, 1]);
});

test('the answer to the mark of a write comes 120 ms late: it runs', async () => {
  const write = createWrite();
  const { post, proxy } = await start([write]);
  const held = proxy.holdAnswers({ word: { part: MARKED }, times: 1, ms: 120 });
  expect(codesOf(await post(callsOf('write'), { key: freshName() }))).toEqual(['ok']);
  expect([held(), write.asked.length]).toEqual([1, 1]);
});

test('a mark of a write that did not run is taken back when Redis is no longer full, and its key runs it then', async () => {
  const write = createWrite();
  const { post, proxy, direct } = await start([write]);
  const [calls, key] = [callsOf('write'), freshName()];
  const held = proxy.holdAnswers({ word: { part: MARKED }, times: 1, ms: 1500 });
  const first = post(calls, { key });
  await expect.poll(held, RECOVERY).toBe(1);
  await direct.config('SET', 'maxmemory', '1');
  expect(codesOf(await first)).toEqual(['store_unavailable']);
  const again = async () => codesOf(await post(calls, { key }))[0] ?? 'in flight';
  expect(await again()).toBe('store_unavailable');
  await direct.config('SET', 'maxmemory', '0');
  const seen = new Set<string>();
  const untilOk = async (): Promise<boolean> => {
    const code = await again();
    seen.add(code);
    return code === 'ok';
  };
  await expect.poll(untilOk, RECOVERY).toBe(true);
  expect(seen).not.toContain('outcome_unknown');
  expect(write.asked).toHaveLength(1);
});

test('the answer to the beginning of a queued write comes too late: it is given back, and runs once', async () => {
  const queued = createWrite('queued', { background: 'always' });
  const { pending, proxy } = await start([queued]);
  const held = proxy.holdAnswers({ word: { part: BEGUN }, times: 1, ms: 1500 });
  const { requestId } = await pending.begin({ calls: callsOf('queued') });
  expect(await pending.finish(requestId)).toMatchObject({ state: 'done', results: [{ value: 'written' }] });
  expect([held(), queued.asked.length]).toEqual([1, 1]);
});

test('the answer to the record of a batch comes 120 ms late: its 202 names results that are found', async () => {
  const queued = createWrite('queued', { background: 'always' });
  const { pending, proxy } = await start([queued]);
  const held = proxy.holdAnswers({ word: { part: NAMED }, times: 2, ms: 120 });
  const { status, requestId, results } = await pending.begin({ calls: callsOf('queued') });
  expect([status, results[0]?.warnings ?? [], held()]).toEqual([202, [], 2]);
  expect(await pending.finish(requestId)).toMatchObject({ status: 200, results: [{ value: 'written' }] });
});

test('what a 202 would name cannot be kept: nothing is accepted, and the same key is accepted later', async () => {
  const queued = createWrite('queued', { background: 'always' });
  const { post, pending, proxy } = await start([queued]);
  const [body, key] = [{ session_id: freshName(), calls: callsOf('queued'), wait_ms: 0 }, freshName()];
  const held = proxy.holdAnswers({ word: { part: NAMED }, times: 1, ms: 1500 });
  const refused = await post(body, { key });
  expect([refused.status, codesOf(refused), held()]).toEqual([200, ['store_unavailable'], 1]);
  expect(refused.headers.get('location')).toBeNull();
  const headers = { 'idempotency-key': key };
  const taken = async () => (await pending.begin(body, { headers })).problem ?? 'taken';
  await expect.poll(taken, RECOVERY).toBe('taken');
  const { requestId } = await pending.begin(body, { headers });
  expect(await pending.finish(requestId)).toMatchObject({ state: 'done', results: [{ value: 'written' }] });
  expect(queued.asked).toHaveLength(1);
});

test('Redis takes no writes for longer than an answer waits: its 202 names what is found then, and later as it was answered', async () => {
  const build = createHeldTool('build');
  const { pending, direct } = await start([build]);
  const calls = [...callsOf('build'), { name: 'unknown', arguments: {} }];
  const asked = pending.begin({ calls }, { wait: 1 });
  await build.begun();
  await direct.replicaof('127.0.0.1', 1);
  const answer = await asked;
  const location = answer.headers.get('location') ?? '';
  expect([answer.status, location]).toEqual([202, `/tool-calls/${answer.requestId}`]);
  expect(answer.results.map(({ warnings = [] }) => warnings.map(({ code }) => code))).toEqual([
    [],
    ['results_not_recorded'],
  ]);
  const codesNow = async () =>
    (await pending.ask(location)).results.map(({ outcome, error }) => error?.code ?? outcome);
  expect((await codesNow())[0]).toBe('pending');
  await direct.replicaof('NO', 'ONE');
  await expect.poll(codesNow, RECOVERY).toEqual(['pending', 'unknown_tool']);
  build.release();
  expect((await pending.finish(answer.requestId)).results[0]).toMatchObject({ value: 'build done' });
});

test('a batch whose deadline passes while Redis is late is answered then, and runs nothing', async () => {
  const [write, queued] = [createWrite(), createWrite('queued', { background: 'always' })];
  const { post, proxy } = await start([write, queued]);
  const steps = [
    [{ part: OPENED }, { calls: callsOf('write') }],
    [{ part: MARKED }, { calls: callsOf('write') }],
    [{ part: CREATED }, { calls: callsOf('queued'), wait_ms: 0 }],
    [{ part: CONFIRMED }, { calls: callsOf('queued'), wait_ms: 0 }],
  ] as const;
  for (const [word, body] of steps) {
    // For a second Redis is waited for.
    const held = proxy.holdAnswers({ word, times: 1, ms: 950 });
    const startedAt = performance.now();
    const [result] = (await post({ ...body, deadline_ms: 200 }, { key: freshName() })).results;
    const tookMs = performance.now() - startedAt;
    expect([word, held(), result?.executed, result?.warnings ?? []]).toEqual([word, 1, 'no', []]);
    // Before Redis answers, however slow the machine is.
    expect([word, tookMs]).toEqual([word, expect.toSatisfy((ms: number) => ms < 900)]);
    // The connection answers in time again.
    await expect
      .poll(async () => codesOf(await post(callsOf('write'), { key: freshName() })), RECOVERY)
      .toEqual(['ok']);
  }
  expect(queued.asked).toEqual([]);
});
