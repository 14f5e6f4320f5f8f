import { type ExpectedProblem, expectProblem, expectResults, post } from '@recourse/test-support/check-answer.ts';
import { sendRaw, toPostText, toRequestText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const TOO_LARGE: ExpectedProblem = {
  status: 413,
  title: 'Payload Too Large',
  code: 'body_too_large',
  detail: 'The body is larger than MAX_BODY_BYTES. Send fewer or smaller calls.',
};

test('a body of exactly the limit is taken, one byte more is refused', async () => {
  const body = (bytes: number): string => `{"calls":[]${' '.repeat(bytes - 12)}}`;
  expectResults(await post(service.url, body(1_048_576)), 0);
  expectProblem(await post(service.url, body(1_048_577)), TOO_LARGE);
});

test('a length over the limit is refused at once, before the body comes', async () => {
  const headers = [
    ['Content-Type', 'application/json'],
    ['Content-Length', '99999999'],
  ] as const;
  expectProblem(await sendRaw(service.port, toRequestText('POST /tool-calls', headers, '{}')), TOO_LARGE);
});

test('a chunked body over the limit is refused while it comes', async () => {
  const head = toRequestText('POST /tool-calls', [
    ['Content-Type', 'application/json'],
    ['Transfer-Encoding', 'chunked'],
  ]);
  const chunk = `80000\r\n${' '.repeat(0x80000)}\r\n`;
  expectProblem(await sendRaw(service.port, `${head}${chunk}${chunk}1\r\n{\r\n`), TOO_LARGE);
});

test('80 000 keys are answered, at once and in few bytes', async () => {
  const keys = Array.from({ length: 80_000 }, (_, key) => `"k${key}":1`).join();
  const answer = await post(service.url, `{${keys},"calls":[{"name":"echo","arguments":{${'"text":"x"'}}}]}`);
  expectResults(answer, 1);
  const flooded = await post(service.url, `{"calls":[{"name":"echo","arguments":{"text":"x",${keys}}}]}`);
  const [result] = expectResults(flooded, 1);
  expect(result?.message).toMatch(
    /^Invalid arguments for 'echo' \(80000 problems\):\n- k0: unknown parameter; accepted: text\n/,
  );
  expect(result?.message).toMatch(/\n… and 79990 more\nFix these and call 'echo' again\.$/);
  expect(result?.error?.issues).toHaveLength(100);
  expect(flooded.body.length).toBeLessThan(50_000);
});

test.each([
  ['sixteen_letters_', 'echoed'],
  ['A-Z_a-z-0123456789', 'echoed'],
  ['x'.repeat(64), 'echoed'],
  ['fifteen-letters', 'made'],
  ['x'.repeat(65), 'made'],
  ['has a space in it ok', 'made'],
  ['quote"quote"quote"quote', 'made'],
  ['', 'made'],
])('the X-Request-Id %j is %s', async (given, fate) => {
  const answers = [
    await post(service.url, '{"calls":[]}', { 'x-request-id': given }),
    await post(service.url, '{', { 'x-request-id': given }),
  ];
  for (const answer of answers) {
    const { request_id: id } = JSON.parse(answer.body);
    expect(answer.headers.get('x-request-id')).toBe(id);
    expect(id === given).toBe(fate === 'echoed');
    expect(id).toMatch(/^[A-Za-z0-9_-]{16,64}$/);
  }
});

test('of two X-Request-Ids none is taken', async () => {
  const id = 'x'.repeat(20);
  const request = toPostText('{"calls":[]}', [
    ['X-Request-Id', id],
    ['X-Request-Id', id],
  ]);
  expect((await sendRaw(service.port, request)).headers.get('x-request-id')).toMatch(/^[0-9A-Z]{26}$/);
});

test.each([
  ['', 400],
  ['""', 400],
  ['k'.repeat(256), 400],
  [`"${'k'.repeat(256)}"`, 400],
  ['k\u00fc', 400],
  ['k', 200],
  ['"k"', 200],
  ['k'.repeat(255), 200],
  [`"${'k'.repeat(255)}"`, 200],
])('the Idempotency-Key %j is answered with %i', async (key, status) => {
  const answer = await post(service.url, '{"calls":[]}', { 'idempotency-key': key });
  if (status === 200) expectResults(answer, 0);
  else
    expectProblem(answer, {
      status: 400,
      title: 'Bad Request',
      code: 'invalid_idempotency_key',
      detail: 'Idempotency-Key must be 1 to 255 printable ASCII characters.',
    });
});

test('two Idempotency-Key headers are refused: joined they would be a key that nobody chose', async () => {
  const send = (...keys: readonly string[]) =>
    sendRaw(
      service.port,
      toPostText(
        '{"calls":[]}',
        keys.map((key) => ['Idempotency-Key', key]),
      ),
    );
  const several = { status: 400, title: 'Bad Request', code: 'invalid_idempotency_key' };
  const detail = 'The request has several Idempotency-Key headers. Send one.';
  for (const keys of [
    ['a', 'b'],
    ['a', 'a'],
    ['"a"', '"b"'],
    ['', 'b'],
  ])
    expectProblem(await send(...keys), { ...several, detail });
  // A key may have commas.
  expect((await send('a, b')).status).toBe(200);
});
