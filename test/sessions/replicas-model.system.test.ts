import { expect, test } from 'vitest';
import type { SessionSettings, SessionStore } from '#src/executor/session-store.ts';
import { runRetryRaces } from '#test/sessions/model/retry-races.ts';
import { runSessionModel } from '#test/sessions/model/run-session-model.ts';
import { runSessionBursts } from '#test/sessions/model/session-bursts.ts';
import { createRedisUnderTest, type StoreUnderTest, useConnections } from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const connections = useConnections(3);

const createReplicas = (settings: SessionSettings): readonly StoreUnderTest[] =>
  connections().map((connection) => createRedisUnderTest(connection, settings));

const createStores = (settings: SessionSettings): readonly SessionStore[] =>
  createReplicas(settings).map(({ store }) => store);

test('three replicas on one Redis decide, one after the other, what the plain model does', {
  timeout: timeLimit(240_000),
}, async () => {
  const seen = await runSessionModel((settings) => {
    const replicas = createReplicas(settings);
    const [first] = replicas;
    if (first === undefined) throw new Error('There is no replica.');
    return { age: first.age, forget: first.forget, stores: replicas.map(({ store }) => store) };
  }, 400);
  // All thirteen but perhaps ten equal answers in a row, which are rare.
  expect(seen.size).toBeGreaterThanOrEqual(12);
});

test(
  'what three replicas answer when asked many things at once is what the plain model answers in some order',
  {
    timeout: timeLimit(240_000),
  },
  () => runSessionBursts(createStores, 200),
);

test(
  'of batches that three replicas let in at once exactly those run that retries and limits allow',
  {
    timeout: timeLimit(240_000),
  },
  () => runRetryRaces(createStores, 200),
);
