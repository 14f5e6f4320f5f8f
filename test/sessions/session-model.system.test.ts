import { expect, test } from 'vitest';
import { runSessionModel } from '#test/sessions/model/run-session-model.ts';
import {
  createFallback,
  createMemoryUnderTest,
  createRedisUnderTest,
  useRedis,
} from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';

// A run that never meets a refusal proves nothing about refusals.
const EVERYTHING = [
  'denied: running',
  'denied: session',
  'denied: tool',
  'free',
  'idle',
  'limit: session_calls',
  'limit: session_rounds',
  'limit: tool_calls',
  'loop: failed',
  'loop: same_answer',
  'retry',
  'run',
  'run: same again',
];

// Ten equal answers in a row are rare: in a few hundred sessions they may not be met.
const USUAL = EVERYTHING.filter((kind) => kind !== 'loop: same_answer');

const redis = useRedis();

test('in random sessions the memory store decides and keeps what the plain model does', async () => {
  const seen = await runSessionModel((settings) => {
    const subject = createMemoryUnderTest(settings);
    return { ...subject, stores: [subject.store] };
  }, timeLimit(2000));
  expect([...seen].sort()).toEqual(EVERYTHING);
});

test('in random sessions the Redis store decides and keeps what the plain model does', {
  timeout: timeLimit(240_000),
}, async () => {
  const seen = await runSessionModel((settings) => {
    const subject = createRedisUnderTest(redis(), settings);
    return { ...subject, stores: [subject.store] };
  }, 400);
  expect([...seen]).toEqual(expect.arrayContaining(USUAL));
});

test('in random sessions the fall-back over Redis decides and keeps what the plain model does', {
  timeout: timeLimit(240_000),
}, async () => {
  const seen = await runSessionModel((settings) => {
    const subject = createRedisUnderTest(redis(), settings);
    return { ...subject, stores: [createFallback(subject.store, settings).store] };
  }, 300);
  expect([...seen]).toEqual(expect.arrayContaining(USUAL));
});
