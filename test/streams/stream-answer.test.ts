import { loadOpenapiDocument } from '@recourse/test-support/openapi-document.ts';
import { ACCEPT, FORMATS, foldEvents, sendFor, startStreams, streamBatch } from '@recourse/test-support/stream-lab.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { negotiateStream } from '#src/routes/event-stream.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { readLines } from './raw-stream.ts';

test.each<[string | undefined, 'sse' | 'ndjson' | null]>([
  [undefined, null],
  ['*/*', null],
  ['application/json', null],
  ['text/event-stream', 'sse'],
  ['application/x-ndjson', 'ndjson'],
  ['Text/Event-Stream; charset=utf-8', 'sse'],
  ['text/event-stream, */*', 'sse'],
  ['application/json, text/event-stream', null],
  ['application/json;q=0.5, text/event-stream', 'sse'],
  ['application/json, text/event-stream;q=0.9', null],
  ['*/*, text/event-stream;q=0.1', null],
  ['text/event-stream;q=0', null],
  ['text/event-stream;q=0.2, application/x-ndjson;q=0.3', 'ndjson'],
  ['text/event-stream;q=high', null],
  ['text/html', null],
])('Accept: %s is answered with %s', (accept, format) => {
  expect(negotiateStream(accept)).toBe(format);
});

test.each(FORMATS)('the head of a stream says what it is, and that nobody keeps or buffers it (%s)', async (format) => {
  const { url } = await startStreams();
  const { response, text, events } = await streamBatch(
    url,
    { calls: [{ id: 'c', name: 'gives_now' }], session_id: 's' },
    { format },
  );
  const { headers } = response;
  expect(
    ['content-type', 'cache-control', 'x-accel-buffering', 'content-length'].map((name) => headers.get(name)),
  ).toEqual([ACCEPT[format], 'no-store', 'no', null]);
  const id = headers.get('x-request-id');
  expect(id).toMatch(/^[\w-]{16,}$/);
  expect(events.map(({ event, id: number }) => [event, number])).toEqual([
    ['accepted', '1'],
    ['result', '2'],
    ['done', '3'],
  ]);
  expect(events[0]?.data).toEqual({
    request_id: id,
    session_id: 's',
    calls: [{ index: 0, id: 'c', name: 'gives_now' }],
  });
  expect(events[2]?.data).toEqual({ request_id: id, session_id: 's', status: 'done' });
  expect(
    text.startsWith(
      format === 'sse' ? 'retry: 2000\n\nevent: accepted\nid: 1\ndata: {' : '{"event":"accepted","id":"1","data":{',
    ),
  ).toBe(true);
});

test('what is refused before its batch is accepted is a problem with a status', async () => {
  const { url } = await startStreams();
  const refused = await sendFor(url, { calls: 7 }, { format: 'sse' });
  expect([refused.status, refused.headers.get('content-type')]).toEqual([
    400,
    'application/problem+json; charset=utf-8',
  ]);
});

test('a stream tells progress and parts by the index of their call, and folds without them', async () => {
  const { url } = await startStreams();
  const { events } = await streamBatch(
    url,
    { calls: [{ name: 'gives', arguments: { length: 3, afterMs: 0 } }] },
    { format: 'sse' },
  );
  expect(events.map(({ event }) => event)).toEqual(['accepted', 'progress', 'part', 'result', 'done']);
  expect(events[1]?.data).toEqual({ index: 0, progress: { done: 1, total: 2, message: 'one' } });
  expect(events[2]?.data).toEqual({ index: 0, value: { length: 3 } });
});

test('each line of a stream is whole for readers that break lines at every line end of Unicode', async () => {
  const text = 'one\u2028two\u2029three\u0085four\u001efive\vsix\r\nseven';
  const input = { type: 'object' } as const;
  const separated = defineTool({ name: 'separated', description: '', effects: 'read', input, run: () => text });
  const { url } = await startStreams([separated]);
  for (const format of FORMATS) {
    const streamed = await streamBatch(url, { calls: [{ name: 'separated' }] }, { format });
    // As `readline` of Node and `str.splitlines` of Python; what else these know as ends of lines, JSON escapes itself.
    expect(streamed.text.split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/)).toEqual(streamed.text.split('\n'));
    expect(foldEvents(streamed.events)).toMatchObject({ results: [{ value: text }] });
  }
});

test('a key that is repeated is answered with all results, marked as a replay', async () => {
  const { url } = await startStreams();
  const batch = {
    calls: [
      { id: 'a', name: 'gives_now' },
      { id: 'b', name: 'breaks' },
    ],
  };
  const sent = { format: 'sse', headers: { 'idempotency-key': 'k' } } as const;
  const first = await streamBatch(url, batch, sent);
  const second = await streamBatch(url, batch, sent);
  expect([first, second].map(({ response }) => response.headers.get('idempotent-replayed'))).toEqual([null, 'true']);
  expect(second.events.map(({ event }) => event)).toEqual(['accepted', 'result', 'result', 'done']);
  const results = [first, second].map(({ events }) => Object(foldEvents(events)['results']));
  expect(results[1]).toEqual(results[0].map((result: object) => ({ ...result, replayed: true })));
});

test('a key with another body is refused by a status', async () => {
  const { url } = await startStreams();
  const sent = { format: 'sse', headers: { 'idempotency-key': 'k' } } as const;
  await streamBatch(url, { calls: [{ name: 'gives_now' }] }, sent);
  expect((await sendFor(url, { calls: [] }, sent)).status).toBe(422);
});

const OPENAI = { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'gives_now', arguments: '{}' } }] };

test('the calls of a provider end with the messages of its conversation, and with raw as they would be the body', async () => {
  const { url } = await startStreams();
  const messages = [{ role: 'tool', tool_call_id: 'call_1', content: expect.any(String) }];
  const plain = await streamBatch(url, OPENAI, { format: 'ndjson' });
  expect(foldEvents(plain.events)).toMatchObject({ format: 'openai-chat', messages, results: [{ id: 'call_1' }] });
  const raw = await streamBatch(url, OPENAI, { format: 'ndjson', query: '?raw=true&dedline_ms=1' });
  expect(foldEvents(raw.events)).toMatchObject({ messages, warnings: [{}] });
});

test('a connection takes further requests behind a stream', async () => {
  const service = await startStreams();
  const head = (accept: string): string =>
    `POST /tool-calls HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: ${accept}\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{"calls":[]}`;
  const text = await readLines(service.port, head('text/event-stream') + head('application/json'), '"results":[]');
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  expect(text).toContain('event: done');
});

test('an idle stream gets a sign of life', async () => {
  const service = await startStreams(undefined, {}, { streamHeartbeatMs: 20 });
  const batch = { calls: [{ name: 'gives', arguments: { length: 1, afterMs: 200 } }] };
  const [sse, ndjson] = await Promise.all(FORMATS.map((format) => streamBatch(service.url, batch, { format })));
  expect(sse?.text.split('\n\n').filter((block) => block === ':').length).toBeGreaterThan(1);
  expect(ndjson?.text.split('\n').filter((line) => line === '{"event":"heartbeat"}').length).toBeGreaterThan(1);
});

test('every event of a stream is as the OpenAPI document says', async () => {
  const { url } = await startStreams();
  const { components, operations } = await loadOpenapiDocument(url);
  const documented = operations.find(({ id }) => id === 'executeToolCalls')?.answers.get(200);
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  const names = ['gives_now', 'throws', 'breaks', 'hangs', 'counts', 'not_there'];
  const calls = [
    ...names.map((name, id) => ({ id, name, arguments: { to: 2, fails: true } })),
    { name: 'gives', arguments: { length: 3, afterMs: 0 } },
    7,
  ];
  for (const format of FORMATS) {
    const validate = ajv.compile({ ...documented?.get(ACCEPT[format]), components: { schemas: components } });
    for (const batch of [{ calls, sesion_id: 's' }, OPENAI]) {
      const { events } = await streamBatch(url, batch, { format });
      for (const event of events) {
        validate(event);
        expect([event.event, validate.errors]).toEqual([event.event, null]);
      }
    }
    expect(validate({ event: 'result', id: '1', data: {} })).toBe(false);
  }
});

test.each(FORMATS)(
  'a value that looks like a pending result is the result of a call that has ended (%s)',
  async (format) => {
    const looks = { success: false, outcome: 'pending', pending: { call: 'c_x' } };
    const input = { type: 'object', additionalProperties: true } as const;
    const job = defineTool({ name: 'job', description: '', effects: 'read', input, run: () => ({ jobs: [looks] }) });
    const { url } = await startStreams([job]);
    const { events } = await streamBatch(url, { calls: [{ name: 'job' }] }, { format });
    expect(foldEvents(events)).toMatchObject({
      status: 'done',
      results: [{ success: true, value: { jobs: [looks] } }],
    });
  },
);
