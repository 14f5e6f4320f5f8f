import { hash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';
import {
  createRecourse,
  isFatal,
  isRetryable,
  mayHaveRun,
  RecourseError,
} from '../../../clients/typescript/src/client.ts';
import { failureOf } from '../../support/http-target.ts';

const KEY = 'a-key-of-thirty-two-characters-x';

const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  effects: 'read',
  retries: 1,
  input: z.object({ number: z.number() }),
  run: ({ number }) => {
    if (number > 1000) throw new RetryableToolError('The number is too large.', { hint: 'Take one up to 1000.' });
    return { number: number * 2 };
  },
});

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
  const service = await startService(environment, [double]);
  onTestFinished(service.stop);
  return service;
};

const doubleOf = (number: unknown, id = 'a') => ({ id, name: 'double', arguments: { number } });

test('every call gets its result, in its place, with what to make of it', async () => {
  const { url } = await start();
  const { results, ...answer } = await createRecourse({ url }).execute(
    [doubleOf(2, 'x'), doubleOf('two', 'y'), { name: 'double', arguments: '{"number":4}' }],
    { sessionId: 's', roundId: 'r', order: 'sequential', onError: 'continue' },
  );
  expect(results.map(({ id, outcome, value }) => [id, outcome, value])).toEqual([
    ['x', 'success', { number: 4 }],
    ['y', 'retry', null],
    [null, 'success', { number: 8 }],
  ]);
  expect(results.map(isRetryable)).toEqual([false, true, false]);
  expect(results.map(isFatal)).toEqual([false, false, false]);
  expect(results.map(mayHaveRun)).toEqual([true, false, true]);
  expect(answer).toMatchObject({ replayed: false, attempts: 1 });
  expect(answer.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
});

test('a call is retryable for as long as its session has a retry left', async () => {
  const session = createRecourse({ url: (await start()).url }).session('budget');
  const round = async (number: number) => (await session.execute([doubleOf(number)])).results.map(isRetryable);
  expect(await round(1001)).toEqual([true]);
  expect(await round(1002)).toEqual([false]);
  // Refused now: its budget is gone.
  expect(await round(2)).toEqual([false]);
  expect((await session.view()).tools).toMatchObject([{ name: 'double', exhausted: true }]);
  await session.resetBudgets('double');
  expect((await session.execute([doubleOf(2)])).results).toMatchObject([{ value: { number: 4 } }]);
  await session.end();
  expect((await session.view()).session.rounds).toBe(0);
});

test('a failure that ends the run is fatal', async () => {
  const failing = defineTool({
    ...{ name: 'failing', description: 'Fails.', effects: 'read', gracefulErrors: false, input: z.object({}) },
    run: () => {
      throw new Error('no');
    },
  });
  const service = await startService({}, [failing]);
  onTestFinished(service.stop);
  const { results } = await createRecourse({ url: service.url }).execute([{ name: 'failing' }]);
  expect(results.map(isFatal)).toEqual([true]);
  expect(results.map(isRetryable)).toEqual([false]);
});

test('the same key again runs nothing; each execute of its own has a key of its own', async () => {
  const recourse = createRecourse({ url: (await start()).url });
  const first = await recourse.execute([doubleOf(2)]);
  const second = await recourse.execute([doubleOf(2)]);
  expect([first.replayed, second.replayed]).toEqual([false, false]);
  expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
  const again = await recourse.execute([doubleOf(2)], { idempotencyKey: first.idempotencyKey });
  expect(again).toMatchObject({ replayed: true, results: [{ replayed: true, value: { number: 4 } }] });
  const other = await failureOf(recourse.execute([doubleOf(3)], { idempotencyKey: first.idempotencyKey }));
  expect(other).toMatchObject({ code: 'idempotency_key_reused', status: 422, attempts: 1, mayHaveRun: false });
});

test('results are recovered by the id of their request', async () => {
  const recourse = createRecourse({ url: (await start()).url });
  const requestId = 'a-request-of-this-test';
  await recourse.execute([doubleOf(21)], { requestId });
  expect(await recourse.recover(requestId)).toMatchObject({ requestId, results: [{ value: { number: 42 } }] });
  expect(await recourse.recover('a-request-of-nobody')).toBe(null);
});

test('the catalogue is read as it is, and again', async () => {
  const recourse = createRecourse({ url: (await start()).url });
  const tools = await recourse.tools();
  expect(tools.find(({ name }) => name === 'double')).toMatchObject({ effects: 'read', limits: { retries: 1 } });
  expect(await recourse.tools('native')).toEqual(tools);
});

test('what the service does not take is an error with its problem', async () => {
  const { url } = await start({ API_KEYS: `acme=${hash('sha256', KEY)}` });
  const error = await failureOf(
    createRecourse({ url }).execute([doubleOf(2)], { requestId: 'a-request-of-this-test' }),
  );
  if (!(error instanceof RecourseError)) throw error;
  expect(error.problem).toMatchObject({ status: 401, code: error.code, request_id: 'a-request-of-this-test' });
  expect(error).toMatchObject({ status: 401, attempts: 1, requestId: 'a-request-of-this-test', mayHaveRun: false });
  const answer = await createRecourse({ url, apiKey: KEY }).execute([doubleOf(2)]);
  expect(answer.results).toMatchObject([{ success: true }]);
  const refused = await failureOf(createRecourse({ url, apiKey: KEY }).session('s'.repeat(257)).view());
  expect(refused).toMatchObject({ status: 400, code: 'invalid_session_id', idempotencyKey: null });
});

test('a rate that is too high is waited out', async () => {
  const recourse = createRecourse({ url: (await start({ RATE_LIMIT: '2/s' })).url });
  const answers = await Promise.all(Array.from({ length: 5 }, () => recourse.execute([doubleOf(2)])));
  expect(answers.map(({ results }) => results[0]?.success)).toEqual([true, true, true, true, true]);
  expect(Math.max(...answers.map(({ attempts }) => attempts))).toBeGreaterThan(1);
});
