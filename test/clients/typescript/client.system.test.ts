import { hash } from 'node:crypto';
import { failureOf } from '@recourse/test-support/http-target.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';
import { createRecourse, RecourseError } from '../../../clients/typescript/src/client.ts';

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
