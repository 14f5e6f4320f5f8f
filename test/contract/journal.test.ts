import { codesOf, createActor, fail, freshName, type Lab, startLab } from '@recourse/test-support/keyed-client.ts';
import { openConnection, toPostText } from '@recourse/test-support/raw-http.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RetryableToolError, TerminalToolError } from '#src/tools/tool-errors.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const throwIt = (thrown: unknown) => () => {
  throw thrown;
};

/** A tool for every way in which a call can end by itself. */
const createEndings = () => [
  createActor('well'),
  createActor('test', {}, fail),
  createActor('wanting', {}, throwIt(new RetryableToolError('Say which.'))),
  createActor('pointless', {}, throwIt(new TerminalToolError('There is none.'))),
  createActor('slow', { timeoutMs: 20 }, () => new Promise(() => undefined)),
  createActor('odd', {}, () => 1n),
  createActor('large', {}, () => 'x'.repeat(2_000_000)),
  createActor('none', { retries: 0 }, fail),
  createActor('few', { maxCallsPerSession: 0 }),
];

describe.each(['memory', 'redis'] as const)('the journal on %s', (store) => {
  const start = (actors: Parameters<typeof startLab>[0], more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, { ...(store === 'memory' ? {} : { REDIS_URL: redis.url }), ...more });

  test('every call is entered once, in its place, however it ended', async () => {
    const { post, session } = await start(createEndings(), { CIRCUIT_FAILURES: '0' });
    const id = freshName();
    const send = (calls: readonly unknown[], more: object = {}) => post({ session_id: id, calls, ...more });
    const call = (name: string, given: unknown = {}) => ({ id: name, name, arguments: given });
    const answers = [
      await send([
        call('well'),
        call('test'),
        call('wanting'),
        call('pointless'),
        call('slow'),
        call('odd'),
        call('large'),
        call('few'),
        call('well', '{'),
        call('nix'),
        7,
      ]),
      await send([call('test'), call('none')]),
      await send([call('test'), call('none')]),
      await send([call('test', { n: 1 }), call('well')], { order: 'sequential', on_error: 'stop' }),
    ];
    const told = answers.flatMap(({ results, requestId }, at) =>
      results.map(({ index, name, success, outcome, executed, error }) => ({
        step: at + 1,
        request_id: requestId,
        index,
        name,
        success,
        outcome,
        executed,
        code: error?.code ?? null,
      })),
    );
    expect(told.map(({ code }) => code)).toEqual([
      null,
      'tool_exception',
      'retry_requested',
      'tool_failed',
      'timeout',
      'invalid_output',
      'output_too_large',
      'call_limit_exceeded',
      'invalid_arguments',
      'unknown_tool',
      'invalid_call',
      'tool_exception',
      'tool_exception',
      'loop_detected',
      'retry_budget_exhausted',
      'tool_exception',
      'not_executed',
    ]);
    const { calls, slices } = await session(id);
    expect(calls).toMatchObject(told);
    expect(calls.map(({ tool }) => tool).slice(-9, -5)).toEqual(['well', '_unknown', null, 'test']);
    expect(slices['failures_by_tool']).toMatchObject({
      test: { tool_exception: 3, loop_detected: 1 },
      _unknown: { unknown_tool: 1, invalid_call: 1 },
      well: { invalid_arguments: 1, not_executed: 1 },
    });
    expect(slices['last_success']).toMatchObject({ tool: 'well', step: 1, index: 0 });
    expect(slices['timeline']).toHaveLength(17);
  });

  test('calls that the service did not let run are entered too: overload, a circuit, a client that went away', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = createActor('slow', {}, () => gate.promise);
    const bad = createActor('bad', {}, fail);
    const { post, session, service } = await start([slow, bad], {
      MAX_CONCURRENT_CALLS: '1',
      MAX_QUEUED_CALLS: '0',
      CIRCUIT_FAILURES: '1',
    });
    const [id, other] = [freshName(), freshName()];
    await post([{ name: 'bad' }]);
    const answer = post({
      session_id: id,
      calls: [{ name: 'slow' }, { name: 'slow', arguments: { n: 1 } }, { name: 'bad' }],
    });
    await expect.poll(() => slow.asked).toHaveLength(1);
    gate.resolve();
    await answer;
    expect((await session(id)).calls.map(({ code, fault }) => [code, fault])).toEqual([
      [null, null],
      ['overloaded', 'service'],
      ['circuit_open', 'policy'],
    ]);
    const never = new Promise<never>(() => undefined);
    slow.act((_input, { signal }) =>
      Promise.race([
        never,
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]),
    );
    const connection = await openConnection(service.port);
    const body = {
      session_id: other,
      order: 'sequential',
      calls: [{ name: 'slow' }, { name: 'slow', arguments: { n: 2 } }],
    };
    connection.write(toPostText(JSON.stringify(body)));
    await expect.poll(() => slow.asked).toHaveLength(2);
    connection.destroy();
    await expect
      .poll(async () => (await session(other)).calls.map(({ code, executed }) => [code, executed]))
      .toEqual([
        ['cancelled', 'maybe'],
        ['cancelled', 'no'],
      ]);
  });

  test('keyed calls: what ran is entered once, a replay is not, what nobody knows is', async () => {
    const write = createActor('write', { effects: 'write' });
    const { post, session } = await start([write]);
    const [id, key] = [freshName(), freshName()];
    const body = {
      session_id: id,
      calls: [
        { id: 'a', name: 'write' },
        { id: 'a', name: 'write' },
      ],
    };
    for (let time = 0; time < 3; time += 1) await post(body, { key });
    const { calls, session: totals } = await session(id);
    expect(calls.map(({ index, code, replayed }) => [index, code, replayed])).toEqual([
      [0, null, undefined],
      [1, null, true],
    ]);
    expect(totals).toMatchObject({ rounds: 1, calls: 1 });
  });

  test.each([0, 1, 3])('the last %d calls are kept, of one batch as of many', async (kept) => {
    const look = createActor('look');
    const { post, session } = await start([look], { SESSION_JOURNAL: String(kept) });
    const id = freshName();
    const call = (n: number) => ({ id: n, name: 'look', arguments: { n } });
    await post({ session_id: id, calls: [call(0), call(1), call(2), call(3), call(4)] });
    await expect
      .poll(async () => (await session(id)).calls.map((entry) => entry.id), { timeout: timeLimit(10_000) })
      .toEqual([2, 3, 4].slice(3 - kept));
    for (const n of [5, 6]) await post({ session_id: id, calls: [call(n)] });
    await expect
      .poll(async () => (await session(id)).calls.map((entry) => entry.id), { timeout: timeLimit(10_000) })
      .toEqual([4, 5, 6].slice(3 - kept));
    const { session: totals, slices } = await session(id);
    expect(totals).toMatchObject({ rounds: 3, calls: 7 });
    if (kept === 0) expect(slices).toEqual({});
  });
});

test('what a replica that stops did not run is entered for the others to read', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = createActor('slow', {}, () => gate.promise);
  const stopping = await startLab([slow], { REDIS_URL: redis.url });
  const other = await startLab([], { REDIS_URL: redis.url });
  const id = freshName();
  const calls = [{ name: 'slow' }, { name: 'slow', arguments: { n: 1 } }];
  const asked = stopping.post({ session_id: id, order: 'sequential', calls });
  await expect.poll(() => slow.asked).toHaveLength(1);
  stopping.service.drain();
  gate.resolve();
  expect(codesOf(await asked)).toEqual(['ok', 'shutting_down']);
  expect((await other.session(id)).calls.map(({ code }) => code)).toEqual([null, 'shutting_down']);
});
