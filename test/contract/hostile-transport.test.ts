import { type ExpectedProblem, expectProblem, expectResults } from '@recourse/test-support/check-answer.ts';
import { openConnection, sendRaw, toPostText, toRequestText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

let service: RunningService;
const written: string[] = [];

const note = defineTool({
  name: 'note',
  description: 'Remembers what it was told.',
  effects: 'write',
  input: z.object({ text: z.string() }),
  run: ({ text }) => written.push(text),
});

const entered = Promise.withResolvers<void>();
const release = Promise.withResolvers<void>();

const pause = defineTool({
  name: 'pause',
  description: 'Waits until it is let go.',
  effects: 'read',
  input: z.object({}),
  run: () => {
    entered.resolve();
    return release.promise;
  },
});

beforeAll(async () => {
  service = await startService({ REQUEST_TIMEOUT_MS: '300' }, [note, pause]);
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const toNote = (text: string): string => JSON.stringify({ calls: [{ name: 'note', arguments: { text } }] });

const MALFORMED: ExpectedProblem = {
  status: 400,
  title: 'Bad Request',
  code: 'bad_request',
  detail: 'The request is malformed.',
};

test.each([
  [
    'a length and chunks',
    toRequestText(
      'POST /tool-calls',
      [
        ['Content-Length', '2'],
        ['Transfer-Encoding', 'chunked'],
      ],
      '{}',
    ),
  ],
  [
    'two lengths',
    toRequestText(
      'POST /tool-calls',
      [
        ['Content-Length', '2'],
        ['Content-Length', '3'],
      ],
      '{}',
    ),
  ],
  ['a length that is no number', toRequestText('POST /tool-calls', [['Content-Length', 'two']], '{}')],
  ['a negative length', toRequestText('POST /tool-calls', [['Content-Length', '-2']], '{}')],
  [
    'a chunk size that is no number',
    toRequestText(
      'POST /tool-calls',
      [
        ['Content-Type', 'application/json'],
        ['Transfer-Encoding', 'chunked'],
      ],
      'zz\r\n{}\r\n0\r\n\r\n',
    ),
  ],
  ['a header without a colon', 'GET /live HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n'],
  ['a space before the colon', 'POST /tool-calls HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}'],
  ['a NUL in a header', 'GET /live HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n'],
  ['a version that does not exist', 'GET /live HTTP/3.7\r\nHost: x\r\n\r\n'],
  ['a method that does not exist', 'FETCH /live HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['the beginning of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
])('%s: the request is refused in the usual form', async (_, request) => {
  expectProblem(await sendRaw(service.port, request), MALFORMED);
});

test('headers of 20 kB are refused', async () => {
  const request = toRequestText('GET /live', [['X-Filler', 'x'.repeat(20_000)]]);
  expectProblem(await sendRaw(service.port, request), {
    status: 431,
    title: 'Request Header Fields Too Large',
    code: 'headers_too_large',
    detail: 'The headers are too large.',
  });
});

test('a request without a Host is refused, as HTTP/1.0 it is taken', async () => {
  expectProblem(await sendRaw(service.port, 'GET /live HTTP/1.1\r\n\r\n'), {
    ...MALFORMED,
    detail: 'The request has no Host header.',
  });
  expect((await sendRaw(service.port, 'GET /live HTTP/1.0\r\n\r\n')).body).toBe('{"status":"live"}');
});

test('an Expect that nobody knows is refused, with a body', async () => {
  const request = toPostText(toNote('expected'), [['Expect', 'miracles']]);
  expectProblem(await sendRaw(service.port, request), {
    status: 417,
    title: 'Expectation Failed',
    code: 'expectation_failed',
    detail: 'Only Expect: 100-continue is supported.',
  });
  expect(written).not.toContain('expected');
});

test('CONNECT is refused, with a body', async () => {
  const answer = await sendRaw(service.port, toRequestText('CONNECT example.com:443'));
  expectProblem(answer, {
    status: 405,
    title: 'Method Not Allowed',
    code: 'method_not_allowed',
    detail: 'This server is not a proxy.',
  });
  expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
});

test('an upgrade that is not wanted is an ordinary request', async () => {
  const headers = [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
  ] as const;
  expect((await sendRaw(service.port, toRequestText('GET /live', headers))).body).toBe('{"status":"live"}');
});

const TOO_SLOW: ExpectedProblem = {
  status: 408,
  title: 'Request Timeout',
  code: 'request_timeout',
  detail: 'The request did not arrive in time. Send it again, faster.',
};

test('headers that never end are answered with 408 and the connection is closed', async () => {
  using connection = await openConnection(service.port);
  connection.write('POST /tool-calls HTTP/1.1\r\nHost: x\r\n');
  expectProblem(await connection.answer(), TOO_SLOW);
  await connection.ended;
});

test('a body that never ends is answered with 408, and what comes later is not run', async () => {
  using connection = await openConnection(service.port);
  const request = toPostText(toNote('late'));
  connection.write(request.slice(0, -5));
  expectProblem(await connection.answer(), TOO_SLOW);
  connection.write(request.slice(-5));
  await connection.ended;
  expectResults(await sendRaw(service.port, toPostText(toNote('after late'))), 1);
  expect(written).not.toContain('late');
  expect(written).toContain('after late');
});

// Both ends of every connection live in this process.
const countSockets = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;

test('a client that never closes its side keeps no socket of the service', async () => {
  using silent = await openConnection(service.port);
  using garbled = await openConnection(service.port);
  const open = countSockets();
  silent.write('GET /li');
  garbled.write('GET\r\n\r\n');
  expectProblem(await silent.answer(), TOO_SLOW);
  expectProblem(await garbled.answer(), MALFORMED);
  await expect.poll(countSockets, { timeout: timeLimit(5000) }).toBe(open - 2);
});

test('a connection without a word is closed without one', async () => {
  using connection = await openConnection(service.port);
  await connection.ended;
});

test('a refused request costs its connection nothing: the next one on it is answered', async () => {
  using connection = await openConnection(service.port);
  connection.write(toPostText('{}'));
  expect((await connection.answer()).status).toBe(400);
  connection.write(toRequestText('DELETE /tool-calls'));
  expect((await connection.answer()).status).toBe(405);
  connection.write(toPostText(toNote('same connection')));
  expectResults(await connection.answer(), 1);
});

test('requests sent without waiting are answered one after the other, in their order', async () => {
  using connection = await openConnection(service.port);
  const ids = ['pipelined_request_1', 'pipelined_request_2', 'pipelined_request_3'];
  connection.write(ids.map((id) => toPostText(toNote(id), [['X-Request-Id', id]])).join(''));
  for (const id of ids) {
    const answer = await connection.answer();
    expectResults(answer, 1);
    expect(answer.headers.get('x-request-id')).toBe(id);
  }
});

test('garbage after a whole request does not take its answer away', async () => {
  using connection = await openConnection(service.port);
  connection.write(`${toPostText('{"calls":[{"name":"pause"},{"name":"pause"}]}')}garbage\r\n\r\n`);
  connection.write('more garbage\r\n\r\n');
  await entered.promise;
  release.resolve();
  const results = expectResults(await connection.answer(), 2);
  expect(results.map(({ success }) => success)).toEqual([true, true]);
  expectProblem(await connection.answer(), MALFORMED);
  await connection.ended;
});

test.each([
  ['an Expect that nobody knows', toRequestText('GET /live', [['Expect', 'something']]), 417],
  ['a CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n', 405],
])('%s behind a whole batch does not take its answer away', async (what, request, status) => {
  using connection = await openConnection(service.port);
  connection.write(`${toPostText(toNote(`before ${what}`))}${request}`);
  expect(expectResults(await connection.answer(), 1).map(({ success }) => success)).toEqual([true]);
  expect((await connection.answer()).status).toBe(status);
  await connection.ended;
  expect(written).toContain(`before ${what}`);
});

test('a body split between any two bytes is the same body', async () => {
  using connection = await openConnection(service.port);
  for (const byte of Buffer.from(toPostText(toNote('€')))) connection.write(Uint8Array.of(byte));
  expectResults(await connection.answer(), 1);
  expect(written).toContain('€');
});
