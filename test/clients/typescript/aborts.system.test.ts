import {
  type Answerer,
  answering,
  failureOf,
  type HttpTarget,
  startHttpTarget,
} from '@recourse/test-support/http-target.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { createRecourse } from '../../../clients/typescript/src/client.ts';

const RESULT = {
  ...{ index: 0, id: 'a', name: 'echo', success: true, outcome: 'success', executed: 'yes', value: 'x' },
  ...{ message: '', error: null, retry: null, duration_ms: 1 },
};
const ANSWER = JSON.stringify({ request_id: 'r', session_id: null, results: [RESULT] });
const CALLS = [{ id: 'a', name: 'echo', arguments: { text: 'x' } }];

/** What stands between a client and a service, giving these answers one after the other, the last one for ever. */
const startProxy = (...answers: readonly Answerer[]): Promise<HttpTarget> =>
  startHttpTarget((response, request, count) =>
    answers[Math.min(count, answers.length) - 1]?.(response, request, count),
  );

test('an abort ends the waiting at once, with the reason it was given', async () => {
  const target = await startProxy(answering(503, { 'retry-after': '60' }));
  const controller = new AbortController();
  const running = failureOf(createRecourse({ url: target.origin }).execute(CALLS, { signal: controller.signal }));
  await expect.poll(() => target.requests.length, { timeout: timeLimit(15_000) }).toBe(1);
  controller.abort(new Error('The user has gone.'));
  expect(await running).toMatchObject({ message: 'The user has gone.' });
  expect(target.requests.length).toBe(1);
});

test('an abort ends a running attempt at once, and its connection', async () => {
  let hasGone = false;
  const target = await startProxy((response) => {
    response.on('close', () => {
      hasGone = true;
    });
  });
  const controller = new AbortController();
  const running = failureOf(createRecourse({ url: target.origin }).execute(CALLS, { signal: controller.signal }));
  await expect.poll(() => target.requests.length, { timeout: timeLimit(15_000) }).toBe(1);
  controller.abort();
  expect(await running).toMatchObject({ name: 'AbortError' });
  await expect.poll(() => hasGone, { timeout: timeLimit(15_000) }).toBe(true);
});

test('what is aborted already is never sent', async () => {
  const target = await startProxy(answering(200, {}, ANSWER));
  const running = createRecourse({ url: target.origin }).execute(CALLS, { signal: AbortSignal.abort() });
  expect(await failureOf(running)).toMatchObject({ name: 'AbortError' });
  expect(target.requests.length).toBe(0);
});

test('an abort ends the waiting for pending calls at once', async () => {
  const waits = { ...RESULT, success: false, outcome: 'pending', executed: 'no', value: null };
  const body = JSON.stringify({ request_id: 'r', session_id: null, status: 'pending', results: [waits] });
  const target = await startProxy(answering(202, { 'retry-after': '60' }, body));
  const controller = new AbortController();
  const options = { wait: 'all', signal: controller.signal } as const;
  const running = failureOf(createRecourse({ url: target.origin }).execute(CALLS, options));
  await expect.poll(() => target.requests.length, { timeout: timeLimit(15_000) }).toBe(2);
  controller.abort(new Error('The user has gone.'));
  expect(await running).toMatchObject({ message: 'The user has gone.' });
  expect(target.requests.length).toBe(2);
});
