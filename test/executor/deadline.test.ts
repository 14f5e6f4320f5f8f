import { expect, test } from 'vitest';
import { type CancelCause, createCancellation } from '#src/executor/deadline.ts';

const tellAtOnce = (listener: () => void): (() => void) => {
  listener();
  return () => undefined;
};

const GONE = { isGone: () => true, whenGone: tellAtOnce };

test('who listens after the client has gone is told, after it has begun to listen', async () => {
  const cancellation = createCancellation(60_000, GONE, performance);
  const told: CancelCause[] = [];
  cancellation.onCancel((cause) => told.push(cause));
  expect(told).toEqual([]);
  await Promise.resolve();
  expect(told).toEqual(['client_gone']);
  cancellation.close();
});

test('who stops listening before it is told is not told', async () => {
  const cancellation = createCancellation(60_000, GONE, performance);
  const told: CancelCause[] = [];
  cancellation.onCancel((cause) => told.push(cause))();
  await Promise.resolve();
  expect(told).toEqual([]);
  cancellation.close();
});
