import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { ToolInvoked } from '#src/executor/call-observer.ts';
import { defineReducer } from '#src/tools/define-reducer.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError, TerminalToolError } from '#src/tools/tool-errors.ts';
import { codesOf, createActor, fail, freshName, type Lab, startLab } from '#test/support/keyed-client.ts';
import { openConnection, toPostText } from '#test/support/raw-http.ts';
import { type RedisForTests, redisForTests } from '#test/support/redis-server.ts';
import { startSubscribedLab } from '#test/support/start-subscribed-lab.ts';

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

  test('what a batch stopped by a drain did not run is entered', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = createActor('slow', {}, () => gate.promise);
    const events: ToolInvoked[] = [];
    const lab = await start([slow]);
    const id = freshName();
    const calls = [{ name: 'slow' }, { name: 'slow', arguments: { n: 1 } }];
    const asked = lab.post({ session_id: id, order: 'sequential', calls });
    await expect.poll(() => slow.asked).toHaveLength(1);
    lab.service.drain();
    gate.resolve();
    expect(codesOf(await asked)).toEqual(['ok', 'shutting_down']);
    expect(events).toEqual([]);
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
      .poll(async () => (await session(id)).calls.map((entry) => entry.id))
      .toEqual([2, 3, 4].slice(3 - kept));
    for (const n of [5, 6]) await post({ session_id: id, calls: [call(n)] });
    await expect
      .poll(async () => (await session(id)).calls.map((entry) => entry.id))
      .toEqual([4, 5, 6].slice(3 - kept));
    const { session: totals, slices } = await session(id);
    expect(totals).toMatchObject({ rounds: 3, calls: 7 });
    if (kept === 0) expect(slices).toEqual({});
  });
});

test('arguments are shown without secrets and without what the schema marks as sensitive, and cut', async () => {
  const login = defineTool({
    name: 'login',
    description: 'Takes secrets.',
    effects: 'read',
    input: z.looseObject({
      user: z.string().optional(),
      password: z.string().meta({ sensitive: true }).optional(),
      inner: z.looseObject({ pin: z.number().meta({ sensitive: true }) }).optional(),
      list: z.array(z.object({ token: z.string().meta({ sensitive: true }) })).optional(),
    }),
    run: () => fail(),
  });
  const { post, session } = await startLab([{ tool: login }]);
  const given = [
    { user: 'bob', password: 'hunter2', inner: { pin: 1234 }, list: [{ token: 'tok' }] },
    { user: 'https://bob:hunter2@db.example.com/ sk-abcdefghijklmnopqrstuv' },
    { user: 'x'.repeat(5000) },
    '{"password":"hunter2"',
    JSON.stringify({ password: 'hunter2' }),
  ];
  await post({ session_id: 's', calls: given.map((one) => ({ name: 'login', arguments: one })) });
  const { calls } = await session('s');
  expect(calls[0]?.arguments).toBe(
    '{"inner":{"pin":"(hidden)"},"list":[{"token":"(hidden)"}],"password":"(hidden)","user":"bob"}',
  );
  expect(calls[1]?.arguments).toBe('{"user":"https://[redacted]@db.example.com/ [redacted key]"}');
  expect(calls[2]?.arguments).toHaveLength(200);
  expect(calls[3]?.arguments).toBe('(hidden)');
  expect(calls[4]?.arguments).toBe('{"password":"(hidden)"}');
  expect(JSON.stringify(calls)).not.toContain('hunter2');
});

const SECRET = z.string().meta({ sensitive: true });

test.each([
  ['may be null', z.looseObject({ it: SECRET.nullable() }), { it: 'hunter2' }],
  ['stands in a union', z.looseObject({ it: z.union([SECRET, z.number()]) }), { it: 'hunter2' }],
  ['stands in a record', z.looseObject({ it: z.record(z.string(), SECRET) }), { it: { any: 'hunter2' } }],
  ['stands in a tuple', z.looseObject({ it: z.tuple([z.number(), SECRET]) }), { it: [1, 'hunter2'] }],
  [
    'has a name in the schema',
    z.looseObject({ it: z.string().meta({ id: 'Secret', sensitive: true }) }),
    { it: 'hunter2' },
  ],
  ['is what all unknown members are', z.object({}).catchall(SECRET), { any: 'hunter2' }],
  [
    'stands in one of two kinds of arguments',
    z.union([z.object({ it: SECRET }), z.object({ n: z.number() })]),
    { it: 'hunter2' },
  ],
  [
    'stands in an intersection',
    z.looseObject({ a: z.string() }).and(z.looseObject({ it: SECRET })),
    { a: 'b', it: 'hunter2' },
  ],
  ['has a default', z.looseObject({ it: SECRET.default('x') }), { it: 'hunter2' }],
])('a sensitive value that %s is not shown', async (_where, input, given) => {
  const tool = defineTool({ name: 'login', description: 'Takes a secret.', effects: 'read', input, run: () => 'in' });
  const { post, session } = await startLab([{ tool }]);
  expect(codesOf(await post({ session_id: 's', calls: [{ name: 'login', arguments: given }] }))).toEqual(['ok']);
  expect(JSON.stringify((await session('s')).calls)).not.toContain('hunter2');
});

test('a secret behind so many others that it is cut through is not shown in part', async () => {
  const look = createActor('look');
  const { post, session } = await startLab([look]);
  const given = { a: `Bearer ${'x'.repeat(740)}`, b: `https://bob:hunter2${'y'.repeat(200)}@db.example.com/` };
  await post({ session_id: 's', calls: [{ name: 'look', arguments: given }] });
  expect((await session('s')).calls[0]?.arguments).not.toContain('hunter2');
});

test('messages are entered without secrets and at most 500 characters long', async () => {
  const bad = createActor('bad', {}, throwIt(new Error(`https://bob:hunter2@db.example.com/ ${'x'.repeat(3000)}`)));
  const { post, session } = await startLab([bad]);
  await post({ session_id: 's', calls: [{ name: 'bad' }] });
  const message = (await session('s')).calls[0]?.message;
  expect(message).toMatch(/^Error: https:\/\/\[redacted\]@db\.example\.com\/ x+…$/);
  expect(message).toHaveLength(500);
});

test('subscribers hear of every call once, failures with a null value too; those that throw change nothing', async () => {
  const heard: ToolInvoked[] = [];
  const rejecting = async (): Promise<never> => Promise.reject(new Error('the subscriber rejects'));
  const lab = await startSubscribedLab(
    createEndings(),
    [
      throwIt(new Error('the subscriber throws')),
      () =>
        void rejecting()
          .catch(fail)
          .catch(() => undefined),
      (event) => heard.push(event),
    ],
    { CIRCUIT_FAILURES: '0' },
  );
  const calls = ['well', 'test', 'pointless', 'slow', 'nix'].map((name) => ({ id: name, name }));
  const { status, results } = await lab.post({ session_id: 's', calls: [...calls, { id: 'well', name: 'well' }] });
  expect(status).toBe(200);
  expect(
    heard.map(({ index, tool, success, code, valueJson, replayed }) => [
      index,
      tool,
      success,
      code,
      valueJson,
      replayed,
    ]),
  ).toEqual([
    [0, 'well', true, null, '{}', false],
    [1, 'test', false, 'tool_exception', 'null', false],
    [2, 'pointless', false, 'tool_failed', 'null', false],
    [3, 'slow', false, 'timeout', 'null', false],
    [4, '_unknown', false, 'unknown_tool', 'null', false],
    [5, 'well', true, null, '{}', true],
  ]);
  expect(results.map(({ message }) => message.split(' This was')[0])).toEqual(heard.map(({ message }) => message));
  expect(lab.log()).toContain('the subscriber throws');
  await expect.poll(async () => (await lab.session('s')).calls.length).toBe(6);
});

test('a reducer of a team’s own folds over the calls, and one that throws costs only its own slice', async () => {
  const count = defineReducer({
    name: 'calls_by_step',
    initial: {},
    reduce: (state: Readonly<Record<string, number>>, { step }) => ({ ...state, [step]: (state[step] ?? 0) + 1 }),
  });
  const broken = defineReducer({ name: 'broken', initial: 0, reduce: () => fail() });
  const { post, session } = await startLab([createActor('look'), { tool: count }, { tool: broken }]);
  for (const n of [1, 2])
    await post({ session_id: 's', calls: Array.from({ length: n }, () => ({ name: 'look', arguments: { n } })) });
  const { slices, slice_errors: errors } = await session('s');
  expect(slices['calls_by_step']).toEqual({ 1: 1, 2: 2 });
  expect(slices['last_success']).toMatchObject({ step: 2, index: 1 });
  expect(Object.keys(slices)).not.toContain('broken');
  expect(errors).toEqual({ broken: 'Error: no' });
});
