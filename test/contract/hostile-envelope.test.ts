import { type ExpectedProblem, expectProblem, expectResults, post } from '@recourse/test-support/check-answer.ts';
import { sendRaw, toRequestText } from '@recourse/test-support/raw-http.ts';
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

const BAD_REQUEST = { status: 400, title: 'Bad Request' } as const;
const badJson = (detail: string): ExpectedProblem => ({ ...BAD_REQUEST, code: 'invalid_json', detail });
const badEnvelope = (detail: string): ExpectedProblem => ({ ...BAD_REQUEST, code: 'invalid_envelope', detail });

test.each([
  ['', 'The body is empty. Send a JSON object with calls.'],
  [' \n', 'The body is empty. Send a JSON object with calls.'],
  ['{', "The body is not valid JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2)."],
  [
    '{"calls":[]',
    "The body is not valid JSON: Expected ',' or '}' after property value in JSON at position 11 (line 1 column 12).",
  ],
  ['{"calls":[NaN]}', 'The body is not valid JSON: Unexpected token \'N\', "{"calls":[NaN]}" is not valid JSON.'],
])('the body %j is refused: it is no JSON', async (body, detail) => {
  expectProblem(await post(service.url, body), badJson(detail));
});

test('a POST without a body, and without a length or a type, is refused', async () => {
  expectProblem(
    await sendRaw(service.port, toRequestText('POST /tool-calls')),
    badJson('The body is empty. Send a JSON object with calls, as application/json.'),
  );
});

const ACCEPTED =
  'Send an object with calls, or the message of a model as it is (openai-chat, openai-responses, openai-realtime, anthropic, gemini, bedrock, mistral, cohere, ollama, ai-sdk, vapi, langchain).';

test.each([
  ['[]', `Invalid input: expected object, received array. ${ACCEPTED}`],
  ['42', `Invalid input: expected object, received number. ${ACCEPTED}`],
  ['null', `Invalid input: expected object, received null. ${ACCEPTED}`],
  ['"calls"', `Invalid input: expected object, received string. ${ACCEPTED}`],
  ['{}', `calls: Invalid input: expected array, received undefined. ${ACCEPTED}`],
  ['{"calls":null}', 'calls: Invalid input: expected array, received null'],
  ['{"calls":{}}', 'calls: Invalid input: expected array, received object'],
  ['{"__proto__":{"calls":[]}}', `calls: Invalid input: expected array, received undefined. ${ACCEPTED}`],
])('the body %j is refused: it is no envelope', async (body, detail) => {
  expectProblem(await post(service.url, body), badEnvelope(detail));
});

test.each([
  ['"session_id":""', 'session_id: Too small: expected string to have >=1 characters'],
  ['"session_id":5', 'session_id: Invalid input: expected string, received number'],
  [`"session_id":"${'x'.repeat(257)}"`, 'session_id: must be 1 to 256 characters'],
  ['"round_id":""', 'round_id: must be 1 to 64 printable ASCII characters'],
  ['"round_id":"a\\nb"', 'round_id: must be 1 to 64 printable ASCII characters'],
  [`"round_id":"${'x'.repeat(65)}"`, 'round_id: must be 1 to 64 printable ASCII characters'],
  ['"order":"random"', 'order: Invalid option: expected one of "parallel"|"sequential"'],
  ['"on_error":"ignore"', 'on_error: Invalid option: expected one of "continue"|"stop"'],
  ['"deadline_ms":0', 'deadline_ms: Too small: expected number to be >0'],
  ['"deadline_ms":-1', 'deadline_ms: Too small: expected number to be >0'],
  ['"deadline_ms":1e400', 'deadline_ms: Invalid input: expected number, received Infinity'],
  ['"deadline_ms":"5"', 'deadline_ms: Invalid input: expected number, received string'],
])('an envelope with %s is refused', async (member, detail) => {
  expectProblem(await post(service.url, `{"calls":[],${member}}`), badEnvelope(detail));
});

const UNSUPPORTED: ExpectedProblem = {
  status: 415,
  title: 'Unsupported Media Type',
  code: 'unsupported_media_type',
  detail: 'Send application/json in UTF-8, without Content-Encoding.',
};

test.each([
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'application/json;charset="UTF-16LE"' },
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  { 'content-type': 'application/json', 'content-encoding': 'identity, gzip' },
])('a body sent as %j is refused for how it is encoded', async (headers) => {
  expectProblem(await post(service.url, '{"calls":[]}', headers), UNSUPPORTED);
});

const OTHER_TYPE: ExpectedProblem = {
  ...UNSUPPORTED,
  detail: "Send application/json in UTF-8 (with curl: -H 'content-type: application/json').",
};

test.each([
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/jsonx' },
  { 'content-type': 'application/json, text/plain' },
  { 'content-type': ';' },
])('a body sent as %j is refused', async (headers) => {
  expectProblem(await post(service.url, '{"calls":[]}', headers), OTHER_TYPE);
});

test('a body without a content type is refused', async () => {
  const request = toRequestText('POST /tool-calls', [['Content-Length', '12']], '{"calls":[]}');
  expectProblem(await sendRaw(service.port, request), OTHER_TYPE);
});

test.each([
  { 'content-type': 'application/json; charset=utf-8' },
  { 'content-type': 'APPLICATION/JSON;charset="UTF-8"' },
  { 'content-type': 'application/json', 'content-encoding': 'Identity' },
])('a body sent as %j is taken', async (headers) => {
  expectResults(await post(service.url, '{"calls":[]}', headers), 0);
});

test('invalid UTF-8 is refused, and nothing of it becomes U+FFFD', async () => {
  const body = Buffer.concat([Buffer.from('{"calls":[{"name":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}]}')]);
  expectProblem(await post(service.url, body), {
    ...BAD_REQUEST,
    code: 'invalid_utf8',
    detail: 'The body is not valid UTF-8.',
  });
});

test('a byte order mark is no part of the JSON', async () => {
  expectResults(await post(service.url, '\ufeff{"calls":[]}'), 0);
});

test('members the contract does not know are ignored, __proto__ and constructor among them', async () => {
  const call = `{"id":"a","type":"function","__proto__":{"name":"x"},"constructor":{"prototype":1},"name":"echo","arguments":{"text":"hi"}}`;
  const members =
    '"__proto__":{"deadline_ms":"x","session_id":5,"order":"y"},"constructor":{"prototype":{}},"model":"m"';
  const [result] = expectResults(await post(service.url, `{${members},"calls":[${call}]}`), 1);
  expect(result).toMatchObject({ id: 'a', name: 'echo', success: true, value: { text: 'hi' } });
});

test('a hundred thousand levels anywhere in the envelope break nothing', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const answer = await post(
    service.url,
    `{"x":${deep},"calls":[${deep},{"name":${deep}},{"id":${deep},"name":"echo"}]}`,
  );
  const results = expectResults(answer, 3);
  expect(results.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, 'invalid_call'],
    [null, 'invalid_call'],
    [null, 'invalid_arguments'],
  ]);
});

test('no calls, no results', async () => {
  expectResults(await post(service.url, '{"calls":[]}'), 0);
});

test('65 calls get 65 results: 64 are run, the last is told to come again', async () => {
  const calls = Array.from({ length: 65 }, (_, id) => ({ id, name: 'echo', arguments: { text: 'x' } }));
  const results = expectResults(await post(service.url, JSON.stringify({ calls })), 65);
  expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
  expect(results.filter(({ success }) => success)).toHaveLength(64);
  expect(results[64]).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    message: 'Not executed: a batch runs at most 64 calls. Send this call again in another batch.',
    error: { code: 'call_limit_exceeded' },
    retry: null,
  });
});

test('1 024 entries get 1 024 results; one more is refused as a whole', async () => {
  expectResults(await post(service.url, `{"calls":[${Array(1024).fill('1').join()}]}`), 1024);
  expectProblem(
    await post(service.url, `{"calls":[${Array(1025).fill('1').join()}]}`),
    badEnvelope('calls: Too big: expected array to have <=1024 items'),
  );
});

test.each(['1e12', '0.001', 'null'])('a deadline of %s ms is taken as far as it goes', async (deadline) => {
  const [result] = expectResults(
    await post(service.url, `{"deadline_ms":${deadline},"calls":[{"name":"echo","arguments":{"text":"x"}}]}`),
    1,
  );
  expect(result?.error?.code ?? 'ok').toMatch(/^(ok|cancelled)$/);
});
