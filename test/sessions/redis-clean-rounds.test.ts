import { expect, test } from 'vitest';
import { createUnpackRound } from '#src/executor/journal/round-journal.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createRedisSessionStore } from '#src/sessions/redis-session-store.ts';
import { ROOMY } from '#test/support/budget-session.ts';
import { createCallSession } from '#test/support/call-session.ts';
import {
  createRedisUnderTest,
  toJournalKey,
  toRedisClient,
  toRedisKey,
  useRedis,
} from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

const JOURNAL = { ...ROOMY, journal: 5 };
const line = (number: number) => ({ tool: 'x', json: `{"n":${number}}` });
const numbersOf = (journal: readonly string[]): readonly unknown[] => journal.map((text) => JSON.parse(text).n);

test('a round whose calls were all answered is one element of its journal', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), JOURNAL), { x: { retries: 2 } });
  await (await session.begin(['x 1', 'x 2', 'x 3'])).end(['=1', '=2', '=3'], [line(1), line(2), line(3)]);
  expect(await redis().llen(toJournalKey(session.key))).toBe(1);
  expect((await session.read()).journal).toEqual([
    '{"n":1,"retries_left":2}',
    '{"n":2,"retries_left":2}',
    '{"n":3,"retries_left":2}',
  ]);
});

test('what a tool has left is exact also where retries were used while the round ran', async () => {
  const settings = { ...JOURNAL, sessionRetries: 2 };
  const session = createCallSession(createRedisUnderTest(redis(), settings), { y: { retries: 2 } });
  const running = await session.begin(['x 1']);
  await session.play({ 'y 2': 'fails' });
  await session.play({ 'y 3': 'fails' });
  expect((await running.end(['=1'], [line(1)])).get('x')).toMatchObject({ failures: 0, remaining: 1 });
  expect((await session.read()).journal.at(-1)).toBe('{"n":1,"retries_left":1}');
});

test('a tool that failed while a clean round of it ran goes on failing', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), JOURNAL));
  const running = await session.begin(['x 1']);
  await session.play({ 'x 2': 'fails' });
  expect((await running.end(['=1'], [line(1)])).get('x')).toMatchObject({ failures: 1, used: 0 });
});

test.each([
  ['by the same tool', 'x 2', 'run, failed 1'],
  ['by another one', 'w 1', 'run'],
] as const)('a change made %s ends the failures in a row of others alone', async (_whose, call, verdict) => {
  const tools = { x: { effects: 'write', retries: 0 }, w: { effects: 'write' } } as const;
  const session = createCallSession(createRedisUnderTest(redis(), JOURNAL), tools);
  const running = await session.begin([call]);
  const failing = await session.begin(['x 1']);
  await failing.end(['fails']);
  await redis().hdel(toRedisKey(session.key), 'failures:x', 'spent');
  await running.end(['=1']);
  const again = await session.begin(['x 1']);
  expect(again.verdicts).toEqual([call === 'x 2' ? 'run' : verdict]);
});

test('elements of the version before, and rows of its digests, go on beside those of this one', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), JOURNAL));
  const [key, journal] = [toRedisKey(session.key), toJournalKey(session.key)];
  await session.play({ 'x 0': '=0' });
  await redis().rpush(journal, '{"n":1,"retries_left":20}');
  await redis().hset(key, 'streaks:x', '0123456789abcdef:0:3:fedcba9876543210 89abcdef01234567:0:1:0000000000000000');
  await (await session.begin(['x 2'])).end(['=2'], [line(2)]);
  expect((await session.read()).journal).toEqual(['{"n":1,"retries_left":20}', '{"n":2,"retries_left":20}']);
  expect((await session.begin(['x 2'])).verdicts).toEqual(['run, same 1']);
});

test('a journal of rounds holds the lines that are shown and at most one round more', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), JOURNAL));
  for (let first = 0; first < 80; first += 4) {
    const numbers = [first, first + 1, first + 2, first + 3];
    const round = await session.begin(numbers.map((number) => `x ${number}` as const));
    await round.end(
      numbers.map((number) => `=${number}` as const),
      numbers.map(line),
    );
  }
  // Five calls and 32 late results: 37 lines in rounds of four.
  expect(await redis().llen(toJournalKey(session.key))).toBe(10);
  expect(numbersOf((await session.read()).journal)).toEqual(Array.from({ length: 37 }, (_, place) => place + 43));
});

test('a journal that was dropped begins anew, whatever was counted of it', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), JOURNAL));
  for (let number = 0; number < 40; number += 1)
    await (await session.begin([`x ${number}`])).end([`=${number}`], [line(number)]);
  await redis().del(toJournalKey(session.key));
  for (const number of [40, 41]) await (await session.begin([`x ${number}`])).end([`=${number}`], [line(number)]);
  expect(numbersOf((await session.read()).journal)).toEqual([40, 41]);
});

const PACKED = '[2,0,"r1",[[0,"a","x",null,{"b":1},1.5]]]';

test.each([
  '[',
  '[1]',
  '[\n',
  '[1]\n',
  '[1,"x",2]\n{',
  '[1,"x",2]\nnull',
  '[1,"x",2]\n[1,2,3]',
  '[1,"x",2]\n[2,0,"r1",[[0,"a",7,null,{},1.5]]]',
  'text',
  '{"another":"version"}',
])('the element %j breaks no journal', async (bad) => {
  const unpackRound = createUnpackRound(createRedactor({ secrets: [] }));
  const store = createRedisSessionStore({ client: toRedisClient(redis()), settings: JOURNAL, unpackRound });
  const session = createCallSession({ store });
  await session.play({ 'x 1': '=1' });
  await redis().rpush(toJournalKey(session.key), bad, `[1,"x",-1]\n${PACKED}`, `[1,"x",7]\n${PACKED}`);
  const { journal } = await session.read();
  expect(journal.slice(-2).map((text) => JSON.parse(text))).toMatchObject([
    { index: 0, arguments: '{"b":1}', retries_left: null },
    { index: 0, arguments: '{"b":1}', retries_left: 7 },
  ]);
});
