import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import {
  type Answerer,
  answering,
  failureOf,
  type HttpTarget,
  startHttpTarget,
  startTcpTarget,
} from '@recourse/test-support/http-target.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { createRecourse, RecourseError, type RecourseOptions } from '../../../clients/typescript/src/client.ts';

const MIB = 1024 * 1024;
const RESULT = {
  ...{ index: 0, id: 'a', name: 'echo', success: true, outcome: 'success', executed: 'yes', value: 'é😀' },
  ...{ message: '', error: null, retry: null, duration_ms: 1 },
};
const toAnswer = (...results: readonly unknown[]): string => JSON.stringify({ request_id: 'r', results });
const ANSWER = toAnswer(RESULT);
const CALLS = [{ id: 'a', name: 'echo', arguments: { text: 'x' } }];

const open = ({ origin }: HttpTarget, options: Partial<RecourseOptions> = {}) =>
  createRecourse({ url: origin, timeoutMs: 20_000, ...options });

const problemOf = async (running: Promise<unknown>): Promise<RecourseError> => {
  const error = await failureOf(running);
  if (error instanceof RecourseError) return error;
  throw error;
};

/** A body without an end, sent as fast as it is read; `sent` counts its bytes. */
const startEndless = async (status: number) => {
  const chunk = Buffer.alloc(MIB / 4, ' ');
  let sent = 0;
  const flood = (response: ServerResponse): void => {
    while (!response.destroyed) {
      sent += chunk.length;
      if (!response.write(chunk)) return void response.once('drain', () => flood(response));
    }
  };
  const target = await startHttpTarget((response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    flood(response);
  });
  return { target, sent: () => sent };
};

test.each([200, 401, 404, 503])('a body without an end under %i is read no further than the limit', async (status) => {
  const { target, sent } = await startEndless(status);
  const error = await problemOf(open(target, { maxAnswerBytes: MIB }).execute(CALLS));
  expect(error).toMatchObject({ code: 'answer_too_large', status, attempts: 1, mayHaveRun: true, problem: null });
  expect(error.message).toContain('larger than 1048576 bytes');
  await expect.poll(target.open, { timeout: timeLimit(15_000) }).toBe(0);
  // What both sockets hold beside it.
  expect(sent()).toBeLessThan(32 * MIB);
});

test('without a setting the limit is 64 MiB, for the catalogue as well', async () => {
  const { target, sent } = await startEndless(200);
  expect(await problemOf(open(target).tools())).toMatchObject({ code: 'answer_too_large' });
  expect(sent()).toBeGreaterThanOrEqual(64 * MIB);
  expect(sent()).toBeLessThan(96 * MIB);
});

test('the limit counts bytes after decompression', async () => {
  const bomb = gzipSync(Buffer.alloc(32 * MIB, ' '));
  expect(bomb.length).toBeLessThan(MIB / 8);
  const target = await startHttpTarget(answering(200, { 'content-encoding': 'gzip' }, bomb));
  const error = await problemOf(open(target, { maxAnswerBytes: MIB }).execute(CALLS));
  expect(error).toMatchObject({ code: 'answer_too_large', attempts: 1 });
});

test.each([
  ['a body that drips', (response: ServerResponse) => void response.write(' ')],
  ['early hints without an end', (response: ServerResponse) => response.writeEarlyHints({ link: '</a>' })],
])('%s is given up when the time is up, and the connection ends', async (_what, drip) => {
  const target = await startHttpTarget((response) => {
    const timer = setInterval(drip, 10, response);
    response.on('close', () => clearInterval(timer));
  });
  const startedAt = performance.now();
  const error = await problemOf(open(target, { timeoutMs: 700 }).execute(CALLS));
  expect(error).toMatchObject({ code: 'no_answer', attempts: 1, mayHaveRun: true });
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(5_000));
  await expect.poll(target.open, { timeout: timeLimit(15_000) }).toBe(0);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect by %i to another host is not followed, nor is the key',
  async (status) => {
    const elsewhere = await startHttpTarget(answering(200, {}, ANSWER));
    const target = await startHttpTarget(answering(status, { location: `${elsewhere.origin}/tool-calls` }));
    const error = await problemOf(open(target, { apiKey: 'a-key-of-this-test' }).execute(CALLS));
    expect(error).toMatchObject({ code: 'bad_answer', status, attempts: 1 });
    expect([target.requests.length, elsewhere.connections()]).toEqual([1, 0]);
  },
);

test('members named like those of prototypes stay where they are', async () => {
  const body = ANSWER.replace('"é😀"', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  const { results } = await open(await startHttpTarget(answering(200, {}, body))).execute(CALLS);
  expect(Object.keys(Object(results[0]?.value))).toEqual(['__proto__', 'constructor']);
  expect('polluted' in {}).toBe(false);
});

const HALF: Answerer = (response) => {
  response.writeHead(200, { 'content-length': String(ANSWER.length) });
  response.write(ANSWER.slice(0, 20));
};

test('an abort in the middle of a body ends the connection, and leaves no listener behind', async () => {
  const target = await startHttpTarget(HALF);
  const controller = new AbortController();
  const running = failureOf(open(target).execute(CALLS, { signal: controller.signal }));
  await expect.poll(() => target.requests.length, { timeout: timeLimit(15_000) }).toBe(1);
  controller.abort('changed my mind');
  expect(await running).toBe('changed my mind');
  await expect.poll(target.open, { timeout: timeLimit(15_000) }).toBe(0);
});

test('waits leave no listener on a signal that lives longer', async () => {
  const target = await startHttpTarget((response, request, count) =>
    count % 3 === 0 ? answering(200, {}, ANSWER)(response, request, count) : answering(503)(response, request, count),
  );
  const { signal } = new AbortController();
  const before = getEventListeners(signal, 'abort').length;
  for (const _ of [1, 2]) expect((await open(target).execute(CALLS, { signal })).attempts).toBe(3);
  expect(getEventListeners(signal, 'abort').length).toBe(before);
});

test('a connection that is reset in every attempt is given up in time', async () => {
  const target = await startTcpTarget((socket) => void socket.once('data', () => socket.resetAndDestroy()));
  const error = await problemOf(open(target, { timeoutMs: 1_000 }).execute(CALLS));
  expect(error).toMatchObject({ code: 'no_answer', status: null, mayHaveRun: true });
  expect(target.connections()).toBeLessThanOrEqual(5);
});
