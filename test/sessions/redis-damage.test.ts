import { ROOMY } from '@recourse/test-support/budget-session.ts';
import { createCallSession } from '@recourse/test-support/call-session.ts';
import {
  createRedisUnderTest,
  toJournalKey,
  toRedisKey,
  useRedis,
} from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';

const redis = useRedis();

const SETTINGS = { ...ROOMY, maxCalls: 9, maxRounds: 9, journal: 5 };
const TOOLS = { x: { maxCalls: 9 } };

// A session is a head, named rounds, calls of limited tools, lines of the journal's elements, lines of refused calls, and of each
// tool its budget and its streaks.
const FIELDS = ['h', 'n', 'c', 'j', 'q', 't:x', 's:x'];

const BAD = [
  ...['abc', '', '-5', '7', 'null', '{}', '[]', '[[[', '"text"', '['.repeat(2000), '\u0000', '%s%d%n', '@', '@[1,2]'],
  ...['1 -1 1 1 b', '1 99999999999999999999 1 1 b', '2 1 1 1 b', '9999x9999 1x1000000000', 'AAAA', 'f'.repeat(100_000)],
  '[1,-1,0,0,"",[]]',
  '["",[["two",-1,9e14]]]',
  '[1,1,1,1,"",[{"id":"b","round":"","retry":true,"epoch":1,"running":-1,"lease":9e14}]]',
  '[["x",-1]]',
];

test.each(FIELDS)(
  'a field %s of which nothing can be made says nothing, and the rest of the session goes on',
  async (field) => {
    for (const bad of BAD) {
      const subject = createRedisUnderTest(redis(), SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await session.play({ 'x 1': 'fails' }, 'one');
      await session.play({ 'x 1': 'fails' }, 'two');
      const running = await session.begin(['x 2'], 'two');
      await redis().hset(toRedisKey(session.key), { [field]: bad, v: 'another writer' });
      await running.end(['over'], [{ tool: 'x', json: '{"n":1}' }]);
      await subject.store.reset(session.key, 'y');
      const after = await session.begin(['y 1']);
      expect([after.verdicts, after.decisions], bad.slice(0, 40)).toEqual([['run'], ['free']]);
      await after.end(['=1'], [{ tool: 'y', json: '{"n":2}' }]);
      const record = await session.read();
      expect(record.journal.at(-1), bad.slice(0, 40)).toMatch(/^{"n":2,/);
      expect(record.rounds).toBeGreaterThan(0);
      // Budgets are known where neither they nor the session's birth are damaged.
      if (!['h', 't:x'].includes(field))
        expect(record.tools.find(({ name }) => name === 'x')?.failures).toBeGreaterThan(0);
    }
  },
);

test('a session without its birth begins another life', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), SETTINGS), TOOLS);
  const running = await session.begin(['x 1']);
  await redis().hdel(toRedisKey(session.key), 'h');
  await redis().hset(toRedisKey(session.key), 'v', 'another writer');
  await running.end(['fails'], [{ tool: null, json: '{"n":1}' }]);
  await running.admission.addLate('{}');
  expect((await session.read()).journal).toEqual([]);
  expect((await session.begin(['x 1'])).decisions).toEqual(['free']);
});

test('a session and a journal of another type are none, and begin anew', async () => {
  const session = createCallSession(createRedisUnderTest(redis(), SETTINGS), TOOLS);
  await (await session.begin(['x 1'])).end(['fails'], [{ tool: null, json: '{"n":1}' }]);
  await redis().del(toRedisKey(session.key), toJournalKey(session.key));
  await redis().set(toRedisKey(session.key), 'text');
  await redis().set(toJournalKey(session.key), 'text');
  // Another process, which knows nothing of it.
  const other = createCallSession(createRedisUnderTest(redis(), SETTINGS), TOOLS, session.key);
  expect((await other.read()).journal).toEqual([]);
  await (await other.begin(['x 1'])).end(['fails'], [{ tool: null, json: '{"n":2}' }]);
  await (await session.begin(['x 2'])).end(['fails'], [{ tool: null, json: '{"n":3}' }]);
  expect((await other.read()).journal).toEqual([expect.stringMatching(/^{"n":2,/), expect.stringMatching(/^{"n":3,/)]);
});
