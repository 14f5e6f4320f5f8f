import { gzipSync } from 'node:zlib';
import {
  type Answerer,
  answering,
  createInstantClock,
  failureOf,
  findClosedPort,
  startHttpTarget,
} from '@recourse/test-support/http-target.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { isAnyAddress } from '#src/egress/address-policy.ts';
import { type ClientFetchOptions, createClientFetch } from '#src/egress/client-fetch.ts';
import { createHttpClient } from '#src/egress/http-client.ts';
import { lookupBySystem } from '#src/egress/lookup.ts';
import { createNoAnswerFailure, findNoAnswer, NoAnswerError } from '#src/egress/no-answer-error.ts';

const openFetch = (options: Partial<ClientFetchOptions> = {}) => {
  const clock = createInstantClock();
  const client = createHttpClient({ mayConnect: isAnyAddress, lookup: lookupBySystem, ports: 'any', clock });
  onTestFinished(client.close);
  return createClientFetch({ client, maxBytes: 1_000, limitMs: 15_000, repeats: 'never', ...options });
};

const json: Answerer = answering(200, { 'content-type': 'application/json' }, '{"a":1}');

test('fetches as the library expects', async () => {
  const target = await startHttpTarget(json);
  const answer = await openFetch()(`${target.origin}/v1/x?y=1`, { headers: { authorization: 'Bearer t' } });
  expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
    200,
    'application/json',
    { a: 1 },
  ]);
  expect(target.requests).toMatchObject([
    { method: 'GET', path: '/v1/x?y=1', headers: { authorization: 'Bearer t', 'accept-encoding': 'gzip, br, zstd' } },
  ]);
});

test('sends texts and forms with their media types, unless the library names one', async () => {
  const bodies: string[] = [];
  const target = await startHttpTarget((response) => {
    response.req.on('data', (chunk: Buffer) => bodies.push(chunk.toString()));
    response.req.on('end', () => response.end());
  });
  const fetch = openFetch();
  await fetch(target.origin, { method: 'post', body: 'a' });
  await fetch(target.origin, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
  await fetch(target.origin, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  expect(bodies).toEqual(['a', 'a=b+c', '{}']);
  expect(target.requests.map(({ method, headers }) => [method, headers['content-type']])).toEqual([
    ['POST', 'text/plain;charset=UTF-8'],
    ['POST', 'application/x-www-form-urlencoded;charset=UTF-8'],
    ['POST', 'application/json'],
  ]);
});

test.each([
  { base: '', path: '/v1/x?y=1' },
  { base: '/', path: '/v1/x?y=1' },
  { base: '/gateway/google/', path: '/gateway/google/v1/x?y=1' },
])('goes to the base address instead of any host: $base', async ({ base, path }) => {
  const target = await startHttpTarget(json);
  await openFetch({ baseUrl: new URL(`${target.origin}${base}`) })('https://www.googleapis.com/v1/x?y=1');
  expect(target.requests).toMatchObject([{ path }]);
});

test('keeps what fits, decompressed, and marks what is cut', async () => {
  const target = await startHttpTarget(
    answering(200, { 'content-encoding': 'gzip', 'x-recourse-cut': 'time' }, gzipSync('x'.repeat(5_000))),
  );
  const answer = await openFetch()(target.origin);
  expect(answer.headers.get('x-recourse-cut')).toBe('size');
  expect(answer.headers.has('content-encoding')).toBe(false);
  expect(await answer.text()).toBe('x'.repeat(1_000));
});

test('a server cannot set the mark', async () => {
  const target = await startHttpTarget(answering(200, { 'x-recourse-cut': 'size' }, 'whole'));
  expect((await openFetch()(target.origin)).headers.get('x-recourse-cut')).toBe(null);
});

test('keeps no more than 64 KiB of an error', async () => {
  const target = await startHttpTarget(answering(400, {}, 'x'.repeat(100_000)));
  const answer = await openFetch({ maxBytes: 1_000_000 })(target.origin);
  expect((await answer.text()).length).toBe(65_536);
});

test('a redirect is an answer', async () => {
  const target = await startHttpTarget(answering(302, { location: '/other' }));
  expect((await openFetch()(target.origin)).status).toBe(302);
  expect(target.requests).toHaveLength(1);
});

test.each([204, 205, 304])('a %i has no body', async (status) => {
  const target = await startHttpTarget(answering(status));
  const answer = await openFetch()(target.origin);
  expect([answer.status, answer.body]).toEqual([status, null]);
});

test('a header that is no bytes is left out, and the answer stays', async () => {
  const target = await startHttpTarget((response) => {
    response.socket?.end('HTTP/1.1 200 OK\r\nx-name: gr\u00fcn \u20ac\r\nx-other: a\r\ncontent-length: 2\r\n\r\nok');
  });
  const answer = await openFetch()(target.origin);
  expect([answer.headers.get('x-other'), await answer.text()]).toEqual(['a', 'ok']);
});

test.each([{ status: 600 }, { status: 999 }])('a status of $status is no answer', async ({ status }) => {
  const target = await startHttpTarget((response) => {
    response.socket?.end(`HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n`);
  });
  const thrown = await failureOf(openFetch()(target.origin));
  expect(findNoAnswer(thrown)).toMatchObject({ reason: 'unreadable', executed: 'maybe', code: `status ${status}` });
});

test.each([429, 500, 502, 503, 504])('repeats after %i only where it may', async (status) => {
  const flaky: Answerer = (response, request, count) =>
    count % 2 === 1 ? answering(status)(response, request, count) : json(response, request, count);
  const target = await startHttpTarget(flaky);
  expect((await openFetch({ repeats: 'transport' })(target.origin)).status).toBe(200);
  expect(target.requests).toHaveLength(2);
  expect((await openFetch({ repeats: 'never' })(target.origin)).status).toBe(status);
  expect(target.requests).toHaveLength(3);
});

test.each([
  { seconds: '5', longestWaitMs: undefined, requests: 2 },
  { seconds: '6', longestWaitMs: undefined, requests: 1 },
  { seconds: '2', longestWaitMs: 1_000, requests: 1 },
])('waits $seconds s for a repeat only where that is not too long', async ({ seconds, longestWaitMs, requests }) => {
  const target = await startHttpTarget((response, request, count) =>
    count === 1 ? answering(429, { 'retry-after': seconds })(response, request, count) : json(response, request, count),
  );
  const answer = await openFetch({ repeats: 'transport', longestWaitMs })(target.origin);
  expect(answer.status).toBe(requests === 1 ? 429 : 200);
  expect(target.requests).toHaveLength(requests);
});

test('a connection that cannot be had is an error that says so, with nothing sent', async () => {
  const port = await findClosedPort();
  const thrown = await failureOf(openFetch()(`http://127.0.0.1:${port}`));
  expect(thrown).toBeInstanceOf(NoAnswerError);
  const wrapped = new Error('a', { cause: new Error('b', { cause: thrown }) });
  expect(findNoAnswer(wrapped)).toMatchObject({ reason: 'not_connected', executed: 'no', code: 'ECONNREFUSED' });
  expect(findNoAnswer(Object.assign(new Error('c'), { original: thrown }))).toMatchObject({ code: 'ECONNREFUSED' });
});

test('a slow answer is no answer, and a call that is given up ends with its reason', async () => {
  const target = await startHttpTarget(() => undefined);
  const slow = await failureOf(openFetch({ limitMs: 200 })(target.origin));
  expect(findNoAnswer(slow)).toMatchObject({ reason: 'too_slow', executed: 'maybe' });
  const given = new AbortController();
  const call = failureOf(openFetch({ signal: given.signal })(target.origin));
  await expect.poll(() => target.requests.length, { timeout: timeLimit(15_000) }).toBe(2);
  given.abort(new Error('gone'));
  expect(await call).toMatchObject({ message: 'gone' });
  const own = new AbortController();
  own.abort(new Error('own'));
  expect(await failureOf(openFetch()(target.origin, { signal: own.signal }))).toMatchObject({ message: 'own' });
});

test.each([
  { what: 'a method that is none', url: 'http://127.0.0.1:1/', init: { method: 'TRACE' } },
  { what: 'a body of bytes', url: 'http://127.0.0.1:1/', init: { method: 'POST', body: new Uint8Array(1) } },
  { what: 'a Request', url: new Request('http://127.0.0.1:1/'), init: {} },
])('refuses $what', async ({ url, init }) => {
  expect(await failureOf(openFetch()(url, init))).toBeInstanceOf(TypeError);
});

test('an error without a silence behind it has none', () => {
  expect(findNoAnswer(new Error('a', { cause: new Error('b') }))).toBe(undefined);
  expect(findNoAnswer('text')).toBe(undefined);
  const round = new Error('round');
  round.cause = round;
  expect(findNoAnswer(round)).toBe(undefined);
});

test.each([
  ['not_connected', 'no', 'No connection to Slack (ECONNREFUSED). Try again later.'],
  ['lost', 'maybe', 'The connection to Slack broke before the answer was complete (ECONNREFUSED). Try again later.'],
  ['too_slow', 'maybe', 'Slack did not answer in time (ECONNREFUSED). Try again later.'],
  ['unreadable', 'maybe', 'Slack sent an answer that cannot be read (ECONNREFUSED). Try again later.'],
  ['no_such_host', 'no', 'The host of Slack does not exist (ECONNREFUSED). Try again later.'],
] as const)('says for people what %s is', (reason, executed, message) => {
  const failure = createNoAnswerFailure(
    { kind: 'no_answer', reason, executed, code: 'ECONNREFUSED', cause: undefined },
    'Slack',
  );
  expect(failure).toMatchObject({ message, executed });
});

test('what must not be sent twice takes no connection that was idle for more than a second', async () => {
  const target = await startHttpTarget(json);
  const clock = createInstantClock();
  const client = createHttpClient({ mayConnect: isAnyAddress, lookup: lookupBySystem, ports: 'any', clock });
  onTestFinished(client.close);
  const read = createClientFetch({ client, maxBytes: 1_000, limitMs: 15_000, repeats: 'transport' });
  const write = createClientFetch({ client, maxBytes: 1_000, limitMs: 15_000, repeats: 'never' });
  await (await read(target.origin)).json();
  await (await write(target.origin)).json();
  expect(target.connections()).toBe(2);
  // That of the writes closes; that of the read stays for three more seconds.
  await expect.poll(target.open, { timeout: timeLimit(3_000), interval: 20 }).toBe(1);
  await (await read(target.origin)).json();
  expect(target.connections()).toBe(2);
  await (await write(target.origin)).json();
  expect(target.connections()).toBe(3);
});
