import { expect, test } from 'vitest';
import { createRecourse, RecourseError, type RecourseOptions } from '../../../clients/typescript/src/client.ts';
import { type Answerer, answering, failureOf, type HttpTarget, startHttpTarget } from '../../support/http-target.ts';

const RESULT = {
  ...{ index: 0, id: 'a', name: 'echo', success: true, outcome: 'success', executed: 'yes', value: 'x' },
  ...{ message: '', error: null, retry: null, duration_ms: 1 },
};
const ANSWER = JSON.stringify({ request_id: 'r', session_id: null, results: [RESULT] });
const CALLS = [{ id: 'a', name: 'echo', arguments: { text: 'x' } }];

const toProblem = (status: number, code: string): string =>
  JSON.stringify({ type: 'about:blank', title: 'x', status, code, detail: 'So it is.', request_id: 'r' });

/** What stands between a client and a service, giving these answers one after the other, the last one for ever. */
const startProxy = (...answers: readonly Answerer[]): Promise<HttpTarget> =>
  startHttpTarget((response, request, count) =>
    answers[Math.min(count, answers.length) - 1]?.(response, request, count),
  );

const execute = ({ origin }: HttpTarget, options: Partial<RecourseOptions> = {}) =>
  createRecourse({ url: origin, ...options }).execute(CALLS);

const problemOf = async (running: Promise<unknown>): Promise<RecourseError> => {
  const error = await failureOf(running);
  if (error instanceof RecourseError) return error;
  throw error;
};

test.each([
  [408, 'request_timeout'],
  [409, 'idempotency_key_in_flight'],
  [429, 'rate_limited'],
  [503, 'draining'],
])('%i is tried again after the time in Retry-After', async (status, code) => {
  const headers = { 'content-type': 'application/problem+json', 'retry-after': '1' };
  const target = await startProxy(answering(status, headers, toProblem(status, code)), answering(200, {}, ANSWER));
  const startedAt = performance.now();
  const answer = await execute(target);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
  expect(answer).toMatchObject({ attempts: 2, replayed: false, results: [{ value: 'x' }] });
});

test.each([502, 503, 504])("a proxy's own %i is tried again, with the same key and the same id", async (status) => {
  const target = await startProxy(answering(status), answering(status), answering(200, {}, ANSWER));
  const answer = await execute(target);
  expect(answer.attempts).toBe(3);
  expect(new Set(target.requests.map(({ headers }) => headers['idempotency-key']))).toEqual(
    new Set([answer.idempotencyKey]),
  );
  expect(new Set(target.requests.map(({ headers }) => headers['x-request-id']))).toEqual(new Set([answer.requestId]));
});

test.each([
  [400, 'invalid_envelope', false],
  [401, 'unauthorized', false],
  [403, 'forbidden', false],
  [413, 'body_too_large', false],
  [422, 'idempotency_key_reused', false],
  [500, 'internal_error', true],
])('%i is never tried again', async (status, code, mayHaveRun) => {
  const target = await startProxy(answering(status, {}, toProblem(status, code)), answering(200, {}, ANSWER));
  const error = await problemOf(execute(target));
  expect(error).toMatchObject({ name: 'RecourseError', status, code, attempts: 1, retryAfterMs: null, mayHaveRun });
  expect(error.problem?.detail).toBe('So it is.');
  expect(error.message).toBe(`POST /tool-calls (${status}): So it is.`);
  expect(target.requests.length).toBe(1);
});

test('a refusal after an attempt that got lost does not say that nothing has run', async () => {
  const target = await startProxy(
    (response) => void response.socket?.resetAndDestroy(),
    answering(401, {}, toProblem(401, 'unauthorized')),
  );
  expect(await problemOf(execute(target))).toMatchObject({ code: 'unauthorized', attempts: 2, mayHaveRun: true });
});

test('an answer that breaks off is lost, and asked for again', async () => {
  const target = await startProxy(
    (response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"request_id":');
      setImmediate(() => response.socket?.resetAndDestroy());
    },
    answering(200, {}, ANSWER),
  );
  expect(await execute(target)).toMatchObject({ attempts: 2, results: [{ value: 'x' }] });
});

test('a wait that would be longer than the time left is not begun, and the error says how long it is', async () => {
  const target = await startProxy(answering(429, { 'retry-after': '3600' }, toProblem(429, 'rate_limited')));
  const error = await problemOf(execute(target));
  expect(error).toMatchObject({ code: 'rate_limited', attempts: 1, retryAfterMs: 3_600_000, mayHaveRun: false });
});

test('a date in Retry-After is understood', async () => {
  const later = new Date(Date.now() + 7_200_000).toUTCString();
  const target = await startProxy(answering(503, { 'retry-after': later }, toProblem(503, 'draining')));
  const { retryAfterMs } = await problemOf(execute(target));
  expect(retryAfterMs).toBeGreaterThan(6_000_000);
  expect(retryAfterMs).toBeLessThanOrEqual(7_200_000);
});

test.each([
  ['a page of HTML', answering(200, { 'content-type': 'text/html' }, '<html>Log in, please.</html>')],
  ['too few results', answering(200, {}, JSON.stringify({ request_id: 'r', results: [] }))],
  ['results out of place', answering(200, {}, ANSWER.replace('"index":0', '"index":1'))],
  ['no object', answering(200, {}, 'null')],
  ['a redirect', answering(307, { location: 'http://127.0.0.1:9/' })],
  ['a page that is not found', answering(404, {}, 'Not Found')],
] as const)('%s is no answer of the service', async (_what, answer) => {
  const target = await startProxy(answer);
  expect(await problemOf(execute(target))).toMatchObject({ code: 'bad_answer', attempts: 1 });
  expect(target.requests.length).toBe(1);
});

test('only the service itself can say that no results are kept', async () => {
  const ask = ({ origin }: HttpTarget) => createRecourse({ url: origin }).recover('a-request-of-nobody');
  expect(await ask(await startProxy(answering(404, {}, toProblem(404, 'result_not_kept'))))).toBe(null);
  const elsewhere = await startProxy(answering(404, {}, toProblem(404, 'not_found')));
  expect(await problemOf(ask(elsewhere))).toMatchObject({ code: 'bad_answer', status: 404 });
});

test('an abort ends the waiting at once, with the reason it was given', async () => {
  const target = await startProxy(answering(503, { 'retry-after': '60' }));
  const controller = new AbortController();
  const running = failureOf(createRecourse({ url: target.origin }).execute(CALLS, { signal: controller.signal }));
  await expect.poll(() => target.requests.length, { timeout: 15_000 }).toBe(1);
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
  await expect.poll(() => target.requests.length, { timeout: 15_000 }).toBe(1);
  controller.abort();
  expect(await running).toMatchObject({ name: 'AbortError' });
  await expect.poll(() => hasGone, { timeout: 15_000 }).toBe(true);
});

test('what is aborted already is never sent', async () => {
  const target = await startProxy(answering(200, {}, ANSWER));
  const running = createRecourse({ url: target.origin }).execute(CALLS, { signal: AbortSignal.abort() });
  expect(await failureOf(running)).toMatchObject({ name: 'AbortError' });
  expect(target.requests.length).toBe(0);
});

test('a path in front of the service is kept, and the key goes with every request', async () => {
  const target = await startProxy(answering(200, {}, ANSWER));
  await execute(target, { url: `${target.origin}/recourse`, apiKey: 'secret' });
  expect(target.requests[0]).toMatchObject({ path: '/recourse/tool-calls', method: 'POST' });
  expect(target.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer secret',
    'content-type': 'application/json',
  });
});

test('a key that no header can carry is refused before anything is sent', async () => {
  const target = await startProxy(answering(200, {}, ANSWER));
  expect(await failureOf(execute(target, { apiKey: 'two\nlines' }))).toBeInstanceOf(TypeError);
  expect(target.requests.length).toBe(0);
});
