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
import { classifyThrown } from 'recourse-server/internal/executor/outcome.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const DOCUMENT = documentOf({
  '/thing': { get: { operationId: 'read' }, put: { operationId: 'change' }, post: { operationId: 'make' } },
});

const startApi = async (answer: Answerer, settings: Record<string, unknown> = {}) => {
  const target = await startHttpTarget(answer);
  const clock = createInstantClock();
  const { tool } = await startImport(DOCUMENT, { baseUrl: target.origin, ...settings }, { clock });
  return { target, tool, call: (name: string) => callTool(tool(name)) };
};

/** What the executor makes of the failure. */
const outcomeOf = async (status: number, name: 'read' | 'make', headers: Record<string, string> = {}) => {
  const { call, tool } = await startApi(answering(status, headers, '{"message":"Because."}'));
  const { code, outcome, executed, retryAfterMs } = classifyThrown(await failureOf(call(name)), tool(name), 'on');
  return [code, outcome, executed, retryAfterMs];
};

test.each([
  [400, 'retry_requested', 'retry', 'no', null],
  [401, 'tool_failed', 'failed', 'no', null],
  [402, 'tool_failed', 'failed', 'no', null],
  [403, 'tool_failed', 'failed', 'no', null],
  [404, 'retry_requested', 'retry', 'no', null],
  [405, 'tool_failed', 'failed', 'no', null],
  [408, 'upstream_unavailable', 'unknown', 'maybe', null],
  [409, 'retry_requested', 'retry', 'no', null],
  [410, 'tool_failed', 'failed', 'no', null],
  [418, 'retry_requested', 'retry', 'no', null],
  [422, 'retry_requested', 'retry', 'no', null],
  [425, 'upstream_unavailable', 'retry', 'no', null],
  [429, 'upstream_rate_limited', 'retry', 'no', null],
  [500, 'upstream_unavailable', 'unknown', 'maybe', null],
  [503, 'upstream_unavailable', 'unknown', 'maybe', null],
])('HTTP %i for a write is %s', async (status, ...expected) => {
  expect(await outcomeOf(status, 'make')).toEqual(expected);
});

test.each([
  [404, 'retry_requested', 'retry', 'yes'],
  [429, 'upstream_rate_limited', 'retry', 'no'],
  [500, 'upstream_unavailable', 'retry', 'maybe'],
])('HTTP %i for a read is %s', async (status, ...expected) => {
  expect((await outcomeOf(status, 'read')).slice(0, 3)).toEqual(expected);
});

test.each([
  ['seconds', '7', 7_000],
  ['a date', 'Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
  ['nonsense', 'soon', null],
])('Retry-After as %s is passed on', async (_, header, expected) => {
  expect(await outcomeOf(429, 'make', { 'retry-after': header })).toEqual([
    'upstream_rate_limited',
    'retry',
    'no',
    expected,
  ]);
});

test('403 with a wait is a rate limit', async () => {
  expect(await outcomeOf(403, 'make', { 'retry-after': '9' })).toEqual(['upstream_rate_limited', 'retry', 'no', 9_000]);
});

test.each([
  ['{"message":"Name is taken."}', 'Name is taken.'],
  ['{"error":"Name is taken."}', 'Name is taken.'],
  ['{"error":{"code":7,"message":"Name is taken."}}', 'Name is taken.'],
  ['{"type":"about:blank","title":"Bad name","status":422,"detail":"Name is taken."}', 'Name is taken.'],
  [
    '{"errors":[{"field":"name","message":"is taken"},"and more"]}',
    '{"errors":[{"field":"name","message":"is taken"},"and more"]}.',
  ],
  ['{"message":"Validation Failed","errors":[{"field":"name","code":"missing"}]}', 'Validation Failed.'],
  ['Name is taken.', 'Name is taken.'],
  ['<html><body>Oops</body></html>', 'the API cannot process these values.'],
  ['', 'the API cannot process these values.'],
])("the API's own message is what the model reads: %s", async (body, expected) => {
  const { call } = await startApi(answering(422, { 'content-type': 'application/json' }, body));
  expect(await failureOf(call('make'))).toMatchObject({ message: `HTTP 422: ${expected}` });
});

test('401 is for a human and names the setting', async () => {
  const { call } = await startApi(answering(401));
  expect(await failureOf(call('read'))).toMatchObject({
    message: 'HTTP 401: the API rejects the credentials of this service.',
    hint: "A human must correct the setting 'auth' of the OpenAPI import 'api'.",
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

test.each([
  ['JSON', answering(200, JSON_TYPE, '{"a":[1]}'), { a: [1] }],
  ['JSON of a vendor', answering(200, { 'content-type': 'application/vnd.x+json; v=1' }, '{"a":1}'), { a: 1 }],
  [
    'a number too long for one',
    answering(200, JSON_TYPE, '{"id":12345678901234567890,"n":1.5}'),
    { id: '12345678901234567890', n: 1.5 },
  ],
  ['text', answering(200, { 'content-type': 'text/csv' }, 'a,b'), { content_type: 'text/csv', text: 'a,b' }],
  [
    'a picture',
    answering(200, { 'content-type': 'image/png' }, Buffer.of(1, 2)),
    { content_type: 'image/png', bytes: 2, text: null },
  ],
  ['gzip', answering(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync('{"a":1}')), { a: 1 }],
])('%s is the value', async (_, answer, expected) => {
  const { call } = await startApi(answer);
  expect(await call('read')).toEqual(expected);
});

test.each([
  ['nothing', 204, answering(204)],
  ['JSON of a line end', 200, answering(200, JSON_TYPE, ' \r\n')],
  ['problem+json of a byte order mark', 200, answering(200, { 'content-type': 'application/problem+json' }, '\ufeff')],
])('an answer of %s is an empty success of a read and a plain one of a write', async (_, status, answer) => {
  const { call } = await startApi(answer);
  const text = 'the API answered without content.';
  expect(await call('read')).toMatchObject({ value: null, message: `HTTP ${status}: ${text}` });
  expect(await call('make')).toMatchObject({ value: null, message: `HTTP ${status}: done; ${text}` });
});

test('white space of another type is its text', async () => {
  const { call } = await startApi(answering(200, { 'content-type': 'text/plain' }, '\n'));
  expect(await call('read')).toEqual({ content_type: 'text/plain', text: '\n' });
});

const cutOff: Answerer = (response) => {
  response.writeHead(201, { ...JSON_TYPE, 'content-length': '100' }).write('{"id":', () => response.destroy());
};
const bomb = answering(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(50_000_000)));
const deep = (open: string, close: string) =>
  `{"id":12345678901234567,"a":${open.repeat(100_000)}1${close.repeat(100_000)}}`;
const dripping: Answerer = (response) => void response.writeHead(201, JSON_TYPE).write('{"id":');

test.each([
  ['broken JSON', answering(201, JSON_TYPE, '{"id":'), 'upstream_unavailable', 'is not valid JSON'],
  ['JSON too deep to read', answering(201, JSON_TYPE, deep('[', ']')), 'upstream_unavailable', 'is not valid JSON'],
  ['half a body', cutOff, 'upstream_unavailable', 'lost in transit'],
  ['a gzip bomb', bomb, 'retry_requested', 'larger than 1048576 bytes'],
  ['a body that never ends', dripping, 'upstream_unavailable', 'was not complete in time'],
])('%s fails a read, and a write that was confirmed is a success that says so', async (_, answer, code, text) => {
  const { call, tool } = await startApi(answer, { timeoutMs: 1_000 });
  expect(classifyThrown(await failureOf(call('read')), tool('read'), 'on').code).toBe(code);
  expect(await call('make')).toMatchObject({ value: null, message: expect.stringContaining(text) });
  expect(await call('change')).toMatchObject({ value: null, message: expect.stringContaining('Do not repeat') });
});

const hangUp: Answerer = (response) => {
  response.destroy();
};

test.each([
  ['read', 3, 'retry', 'maybe'],
  ['change', 1, 'retry', 'maybe'],
  ['make', 1, 'unknown', 'maybe'],
] as const)('a lost answer: %s is sent %i times', async (name, times, outcome, executed) => {
  const { call, tool, target } = await startApi(hangUp);
  expect(classifyThrown(await failureOf(call(name)), tool(name), 'on')).toMatchObject({
    code: 'upstream_unavailable',
    outcome,
    executed,
  });
  expect(target.requests).toHaveLength(times);
});

test('a write that found no connection was not executed', async () => {
  const { tool } = await startImport(DOCUMENT, { baseUrl: `http://127.0.0.1:${await findClosedPort()}` });
  expect(classifyThrown(await failureOf(callTool(tool('make'))), tool('make'), 'on')).toMatchObject({
    code: 'upstream_unavailable',
    outcome: 'retry',
    executed: 'no',
  });
});

test('the end of the call ends the request', async () => {
  const { tool, target } = await startApi(() => undefined);
  const ending = new AbortController();
  const calling = failureOf(callTool(tool('read'), {}, { signal: ending.signal }));
  await expect.poll(() => target.requests.length, { timeout: timeLimit(15_000) }).toBe(1);
  ending.abort(new Error('over'));
  expect(await calling).toMatchObject({ message: 'over' });
  await expect.poll(target.open, { timeout: timeLimit(15_000) }).toBe(0);
});
