import {
  createRedisRecordsUnderTest,
  createSqliteRecordsUnderTest,
} from '@recourse/test-support/record-stores-under-test.ts';
import {
  createFallback,
  createMemoryUnderTest,
  createRedisUnderTest,
  useConnections,
} from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import type { SessionSettings } from '#src/executor/session-store.ts';
import { runRetryRaces } from '#test/sessions/model/retry-races.ts';
import { runSessionModel } from '#test/sessions/model/run-session-model.ts';
import { runSessionBursts } from '#test/sessions/model/session-bursts.ts';

const connections = useConnections(3);

// More of each by hand: RUNS=20000.
const RUNS = Number(process.env['RUNS'] ?? 300);
const LONG = { timeout: timeLimit(240_000) + RUNS * 200 };

const createReplicas = (settings: SessionSettings) => createRedisRecordsUnderTest(connections(), settings);

test.each([
  ['memory', createMemoryUnderTest],
  ['SQLite', createSqliteRecordsUnderTest],
])('in random sessions records in %s decide and keep what the plain model does', LONG, async (_, create) => {
  const seen = await runSessionModel((settings) => {
    const subject = create(settings);
    return { ...subject, stores: [subject.store] };
  }, RUNS);
  expect(seen.size).toBeGreaterThanOrEqual(12);
});

test('in random sessions the fall-back over Redis decides and keeps what the plain model does', LONG, async () => {
  const seen = await runSessionModel((settings) => {
    const [connection] = connections();
    if (connection === undefined) throw new Error('There is no connection.');
    const subject = createRedisUnderTest(connection, settings);
    return { ...subject, stores: [createFallback(subject.records, settings).store] };
  }, RUNS);
  expect(seen.size).toBeGreaterThanOrEqual(12);
});

test('three replicas on one Redis decide, one after the other, what the plain model does', LONG, async () => {
  const seen = await runSessionModel((settings) => {
    const replicas = createReplicas(settings);
    const [first] = replicas;
    if (first === undefined) throw new Error('There is no replica.');
    return { age: first.age, forget: first.forget, stores: replicas.map(({ store }) => store) };
  }, RUNS);
  expect(seen.size).toBeGreaterThanOrEqual(12);
});

const createStores = (settings: SessionSettings) => createReplicas(settings).map(({ store }) => store);

test(
  'what three replicas answer when asked many things at once is what the plain model answers in some order',
  LONG,
  () => runSessionBursts(createStores, RUNS),
);

test('of batches that three replicas let in at once exactly those run that retries and limits allow', LONG, () =>
  runRetryRaces(createStores, RUNS),
);
