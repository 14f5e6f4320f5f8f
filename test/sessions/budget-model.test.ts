import { expect, test } from 'vitest';
import { runBudgetModel } from '#test/support/budget-commands.ts';
import {
  createFallback,
  createMemoryUnderTest,
  createRedisUnderTest,
  useRedis,
} from '#test/support/session-stores-under-test.ts';

const MEMORY_RUNS = 3000;
const REDIS_RUNS = 300;
// A run that never meets a refusal proves nothing about refusals.
const EVERY_DECISION = ['free', 'retry', 'running', 'session', 'tool'];

const redis = useRedis();

test('in random sessions the memory store decides as the plain model does', { timeout: 120_000 }, async () => {
  const seen = await runBudgetModel(createMemoryUnderTest, MEMORY_RUNS);
  expect([...seen].sort()).toEqual(EVERY_DECISION);
});

test('in random sessions the Redis store decides as the plain model does', { timeout: 240_000 }, async () => {
  const seen = await runBudgetModel((settings) => createRedisUnderTest(redis(), settings), REDIS_RUNS);
  expect([...seen].sort()).toEqual(EVERY_DECISION);
});

test('in random sessions the fall-back over Redis decides as the plain model does', { timeout: 240_000 }, async () => {
  const seen = await runBudgetModel((settings) => {
    const subject = createRedisUnderTest(redis(), settings);
    return { ...subject, store: createFallback(subject.store, settings).store };
  }, REDIS_RUNS);
  expect([...seen].sort()).toEqual(EVERY_DECISION);
});
