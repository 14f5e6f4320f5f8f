import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createBudgetSession, ROOMY } from '#test/support/budget-session.ts';
import { createCallSession } from '#test/support/call-session.ts';
import { createRedisUnderTest, toJournalKey, toRedisKey, useRedis } from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

const SETTINGS = { ...ROOMY, maxCalls: 4, maxRounds: 3, journal: 5 };
const TOOLS = { x: { maxCalls: 9 } };

const damaged = async (damage: (client: Redis, key: string) => Promise<unknown>, settings = SETTINGS) => {
  const subject = createRedisUnderTest(redis(), settings);
  const session = createCallSession(subject, TOOLS);
  await session.play({ 'x 1': 'fails' }, 'one');
  await session.play({ 'x 1': 'fails' }, 'two');
  const running = await session.begin(['x 2'], 'two');
  const spoil = () => damage(redis(), toRedisKey(session.key));
  await spoil();
  await running.end(['over'], [{ tool: 'x', json: '{"n":1}' }]);
  await spoil();
  await subject.store.reset(session.key, 'y');
  await spoil();
  return session;
};

const BAD_COUNTS = ['abc', '-5', 'nan', '0x10', '1e3', '1.5', '', '12345678901234567890'];

test.each(BAD_COUNTS)('counts of rounds and calls that read %j begin anew', async (bad) => {
  const session = await damaged((client, key) => client.hset(key, { rounds: bad, calls: bad, 'calls:x': bad }));
  expect(await session.read()).toMatchObject({ rounds: 0, calls: 0, tools: [{ name: 'x', calls: 0, used: 1 }] });
  const clean = await session.begin(['a 1', 'b 1']);
  expect([clean.verdicts, clean.admission.step]).toEqual([['run', 'run'], 1]);
  const counted = await session.begin(['x 3'], 'three');
  expect([counted.verdicts, counted.admission.step]).toEqual([['run'], 2]);
  expect(await session.read()).toMatchObject({ rounds: 2, calls: 3, tools: [{ name: 'x', calls: 1 }] });
});

const BAD_STREAKS = [
  'abc',
  '',
  '@',
  '@@@',
  '[[[',
  'zz:1:1:',
  'abcdef:-1:x:',
  'abcdef',
  ':::::',
  '@nan abcdef:f:',
  '@99999999999999999999 abcdef:f:',
  'abcdef:9:9:a '.repeat(5000),
  '%s%d%n',
  '\u0000',
];

test.each(BAD_STREAKS)('streaks that read %j have nothing against a call', async (bad) => {
  const session = await damaged((client, key) => client.hset(key, 'streaks:x', bad), { ...ROOMY, journal: 5 });
  expect((await session.begin(['x 1'])).verdicts).toEqual(['run']);
  const verdicts: string[] = [];
  for (let round = 0; round < 3; round += 1) verdicts.push(...(await session.play({ 'x 1': 'fails' })).verdicts);
  expect(verdicts).toEqual(['run', 'run, failed 1', 'loop: failed, 3']);
});

test.each(['a', '12345678901234567890', '-1'])('a streak whose counts read %j is none', async (bad) => {
  const session = createCallSession(createRedisUnderTest(redis(), ROOMY));
  await session.play({ 'x 1': 'fails' });
  const key = toRedisKey(session.key);
  const saved = (await redis().hget(key, 'streaks:x')) ?? '';
  expect(saved).toMatch(/^[0-9a-f]{14}:1:0:$/);
  await redis().hset(key, 'streaks:x', saved.replace(':1:0:', `:${bad}:${bad}:`));
  expect((await session.begin(['x 1'])).verdicts).toEqual(['run']);
});

const BAD_ROUNDS = [
  '[[[',
  '7',
  'null',
  '{}',
  '[null,7,[],{}]',
  '[{"id":7,"step":1,"join_until":9e14}]',
  '['.repeat(2000),
];

test.each(BAD_ROUNDS)('named rounds that read %j are forgotten', async (bad) => {
  const session = await damaged((client, key) => client.hset(key, 'named', bad), ROOMY);
  const again = await session.begin(['x 9'], 'two');
  expect([again.verdicts, again.admission.step]).toEqual([['run'], 3]);
});

test('a named round with damaged numbers may be joined by nobody', async () => {
  const bad = '[{"id":"two","step":-1,"join_until":"9e14"},{"id":"two","step":{},"join_until":1e300}]';
  const session = await damaged((client, key) => client.hset(key, 'named', bad), ROOMY);
  expect((await session.begin(['x 9'], 'two')).admission.step).toBe(3);
});

test('a session without its birth begins another life', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), SETTINGS), TOOLS);
  const running = await session.begin(['x 1']);
  await redis().hdel(toRedisKey(session.key), 'born');
  await running.end(['fails'], [{ tool: null, json: '{"n":1}' }]);
  await running.admission.addLate('{}');
  expect((await session.read()).journal).toEqual([]);
  expect((await session.begin(['x 1'])).decisions).toEqual(['free']);
});

test('a journal of another type is an error, for the fall-back to deal with', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), SETTINGS));
  const round = await session.begin(['x 1']);
  await redis().set(toJournalKey(session.key), 'text');
  await expect(round.end(['fails'], [{ tool: null, json: '{"n":1}' }])).rejects.toThrow('WRONGTYPE');
  await expect(session.read()).rejects.toThrow('WRONGTYPE');
});

const BAD_NUMBERS = ['abc', '-5', 'nan', 'inf', '0x10', '1e3', '1.5', ' 1', '', '12345678901234567890'];

test.each(BAD_NUMBERS)('a counter that reads %j reads as 0', async (bad) => {
  const session = createBudgetSession(createRedisUnderTest(redis(), ROOMY), { x: 2 });
  const key = toRedisKey(session.key);
  const after = async (field: string) => {
    await redis().del(key);
    await session.run({ x: 'F' });
    await session.run({ x: 'F' });
    const running = await session.begin(['x']);
    await redis().hset(key, field, bad);
    await running.end({ x: 'T' });
    await redis().hset(key, field, bad);
    const next = await session.begin(['x', 'y']);
    return [next.decisions[0], next.budgetOf('x').failures, next.budgetOf('x').used, next.budgetOf('y').remaining];
  };
  expect(await after('failures:x')).toEqual(['free', 0, 1, 2]);
  expect(await after('used:x')).toEqual(['retry', 2, 0, 2]);
  const others = [
    'epoch:x',
    'failed_at:x',
    'lost',
    'spent',
    'failures:_unknown',
    'used:z',
    'rounds',
    'calls',
    'calls:x',
  ];
  for (const field of others) expect(await after(field)).toEqual(['retry', 2, 1, 2]);
});

const BAD_CLAIMS = [
  '[[[',
  '"text"',
  '7',
  'null',
  '{}',
  '{"a":1}',
  '[null,7,"x",[],{}]',
  '[{"id":7,"tool":"x","retry":true,"running":1,"lease":9e14}]',
  '[{"id":"b","tool":["x"],"retry":true,"running":1,"lease":9e14}]',
  '[{"id":"b","tool":"x","retry":1,"running":1,"lease":9e14}]',
  '[{"id":"b","tool":"x","retry":true,"running":"1","lease":9e14}]',
  '[{"id":"b","tool":"x","retry":true,"running":-1,"lease":9e14}]',
  '[{"id":"b","tool":"x","retry":true,"running":1,"lease":"9e14"}]',
  '[{"id":"b","tool":"x","retry":true,"running":1,"lease":1e300,"wiped_used":-3,"applied":{}}]',
  '['.repeat(2000),
];

test.each(BAD_CLAIMS)('claims that read %j hold nothing', async (bad) => {
  const session = createBudgetSession(createRedisUnderTest(redis(), ROOMY), { x: 2 });
  await session.run({ x: 'F' });
  const running = await session.begin(['x']);
  await redis().hset(toRedisKey(session.key), 'claims', bad);
  expect((await running.end({ x: 'F' }))('x')).toMatchObject({ failures: 2, used: 1, remaining: 1 });
  await redis().hset(toRedisKey(session.key), 'claims', bad);
  const next = await session.begin(['x']);
  expect(next.decisions).toEqual(['retry']);
  expect(next.budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 0 });
});
