import { hash } from 'node:crypto';
import { once } from 'node:events';
import { onlySpan, startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { defineTool, RetryableToolError, type ToolContext } from '#src/recourse.ts';
import type { Tool } from '#src/tools/tool.ts';

const OPEN = { type: 'object', additionalProperties: true } as const;
const tool = (name: string, run: (input: unknown, context: ToolContext) => unknown): Tool =>
  defineTool({ name, description: '', effects: 'read', input: OPEN, run });

const TOOLS = [
  tool('add', () => 3),
  tool('guide', () => {
    throw new RetryableToolError('Send a city, not a country.');
  }),
  tool('wait_for_nobody', (_input, { signal }) => once(signal, 'abort')),
  tool('slow', () => new Promise((resolve) => setTimeout(() => resolve('done'), 60))),
];

const startTraced = async (environment: Readonly<Record<string, string>> = {}) => {
  const receiver = await startOtlpReceiver();
  const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, ...environment }, TOOLS);
  return { receiver, service };
};

test('a batch is a server span with one span per call beneath it', async () => {
  const { receiver, service } = await startTraced();
  await service.call([
    { id: 'call_1', name: 'add', arguments: {} },
    { id: 'call_2', name: 'slow', arguments: {} },
  ]);
  await service.stop();
  const spans = receiver.spans();
  expect(spans.map(({ name }) => name).sort()).toEqual(['POST /tool-calls', 'execute_tool add', 'execute_tool slow']);
  const batch = onlySpan(spans, 'POST /tool-calls');
  const slow = onlySpan(spans, 'execute_tool slow');
  expect(batch).toMatchObject({ kind: 'server', parentSpanId: '', scope: 'recourse', status: { code: 'unset' } });
  expect(batch.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(slow).toMatchObject({ kind: 'internal', parentSpanId: batch.spanId, traceId: batch.traceId });
  expect(onlySpan(spans, 'execute_tool add')).toMatchObject({ parentSpanId: batch.spanId, traceId: batch.traceId });
  expect(slow.endedAt - slow.startedAt).toBeGreaterThan(40_000_000n);
  expect(slow.startedAt).toBeGreaterThanOrEqual(batch.startedAt);
  expect(slow.endedAt).toBeLessThanOrEqual(batch.endedAt);
  expect(batch.resource).toMatchObject({ 'service.name': 'recourse', 'telemetry.sdk.language': 'nodejs' });
  expect(batch.resource['service.version']).toMatch(/^\d+\.\d+\.\d+/);
  expect(receiver.exports().map(({ path }) => path)).toEqual(['/v1/traces']);
});

test('the spans of a success say by the names of the conventions what ran', async () => {
  const { receiver, service } = await startTraced();
  await service.call([{ id: 'call_1', name: 'add', arguments: { secret: 'of the caller' } }], { session_id: 's_42' });
  await service.stop();
  const { attributes } = onlySpan(receiver.spans(), 'execute_tool add');
  const session = `anonymous:${'[0-9a-f]'}{64}`;
  expect(attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'add',
    'gen_ai.tool.type': 'extension',
    'gen_ai.tool.call.id': 'call_1',
    'gen_ai.conversation.id': expect.stringMatching(new RegExp(`^${session}$`)),
    'recourse.call.index': 0,
    'recourse.outcome': 'success',
    'recourse.executed': 'yes',
    'recourse.queue_ms': 0,
  });
  expect(onlySpan(receiver.spans(), 'POST /tool-calls').attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/tool-calls',
    'http.response.status_code': 200,
    'gen_ai.conversation.id': attributes['gen_ai.conversation.id'],
    'recourse.request_id': expect.stringMatching(/^[0-9A-Z]{26}$/),
    'recourse.calls': 1,
    'recourse.failed': 0,
  });
});

test('a failed call is an error of its span although HTTP says 200', async () => {
  const { receiver, service } = await startTraced();
  await service.call([{ id: 7, name: 'guide', arguments: {} }]);
  await service.stop();
  const failed = onlySpan(receiver.spans(), 'execute_tool guide');
  expect(failed.status).toEqual({ code: 'error', message: 'Send a city, not a country.' });
  expect(failed.attributes).toMatchObject({
    'error.type': 'retry_requested',
    'gen_ai.tool.call.id': '7',
    'recourse.outcome': 'retry',
    'recourse.executed': 'yes',
    'recourse.fault': 'caller',
    'recourse.retry.allowed': true,
    'recourse.retry.remaining': 3,
    'recourse.retry.limited_by': 'tool',
  });
  const batch = onlySpan(receiver.spans(), 'POST /tool-calls');
  expect(batch.status.code).toBe('unset');
  expect(batch.attributes).toMatchObject({
    'http.response.status_code': 200,
    'recourse.calls': 1,
    'recourse.failed': 1,
  });
});

test('calls that never started have spans without a length, and no name that a model made up', async () => {
  const { receiver, service } = await startTraced();
  const invented = '__proto__\n{"level":60}\u001b[31m';
  const results = await service.call([
    { id: 'a', name: invented, arguments: {} },
    'no call at all',
    { id: 'b', name: 'echo', arguments: '{' },
  ]);
  expect(results.map(({ error }) => error?.code)).toEqual(['unknown_tool', 'invalid_call', 'invalid_arguments']);
  await service.stop();
  const calls = receiver.spans().filter(({ kind }) => kind === 'internal');
  expect(calls.map(({ name, attributes }) => [name, attributes['gen_ai.tool.name'], attributes['error.type']])).toEqual(
    [
      ['execute_tool _unknown', '_unknown', 'unknown_tool'],
      ['execute_tool _unknown', '_unknown', 'invalid_call'],
      ['execute_tool echo', 'echo', 'invalid_arguments'],
    ],
  );
  expect(calls.map(({ startedAt, endedAt }) => endedAt - startedAt)).toEqual([0n, 0n, 0n]);
  expect(calls.map(({ attributes }) => attributes['recourse.executed'])).toEqual(['no', 'no', 'no']);
  expect(calls.every(({ attributes }) => !('recourse.queue_ms' in attributes))).toBe(true);
});

test('ids of any kind leave a span that can be read', async () => {
  const { receiver, service } = await startTraced();
  const ids = [
    '',
    // As long as an id may be.
    'x'.repeat(16_384),
    'a\u0000b\u001b[31m\n{"level":60}',
    '\ud800',
    'AKIAABCDEFGHIJKLMNOP',
    1.5,
    null,
  ];
  const results = await service.call(ids.map((id) => ({ id, name: 'add', arguments: {} })));
  expect(results.every(({ success }) => success)).toBe(true);
  await service.stop();
  const calls = receiver.spans().filter(({ name }) => name === 'execute_tool add');
  expect(calls.map(({ attributes }) => attributes['gen_ai.tool.call.id'])).toEqual([
    undefined,
    undefined,
    'a\u0000b\u001b[31m\n{"level":60}',
    '\ufffd',
    '[redacted key]',
    '1.5',
    undefined,
  ]);
});

test('a copy of a call and a batch that is replayed say so, and take no time again', async () => {
  const { receiver, service } = await startTraced();
  const twice = { id: 'c', name: 'slow', arguments: {} };
  await service.call([twice, twice]);
  const keyed = () =>
    fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k1' },
      body: JSON.stringify({ calls: [{ id: 'd', name: 'add', arguments: {} }] }),
    }).then((response) => response.text());
  await keyed();
  await keyed();
  await service.stop();
  const of = (name: string) =>
    receiver.spans().flatMap((span) => {
      if (span.name !== name) return [];
      const took = span.endedAt - span.startedAt > 0n ? 'some time' : 'none';
      return [[span.attributes['recourse.replayed'] ?? false, took]];
    });
  expect(of('execute_tool slow')).toEqual([
    [false, 'some time'],
    [true, 'none'],
  ]);
  expect(of('execute_tool add').map(([replayed]) => replayed)).toEqual([false, true]);
  expect(receiver.spans().filter(({ name }) => name === 'POST /tool-calls')).toHaveLength(3);
});

test('an envelope that is refused has a span with its status and no calls; who may not come in has none', async () => {
  const { receiver, service } = await startTraced({
    API_KEYS: `acme=${hash('sha256', 'a-key-that-is-long-enough-0123456789')}`,
  });
  const post = async (body: string, headers: Readonly<Record<string, string>> = {}): Promise<number> => {
    const response = await fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    await response.text();
    return response.status;
  };
  const key = { authorization: 'Bearer a-key-that-is-long-enough-0123456789' };
  // Whatever its traceparent asks for: a stranger must not fill the collector.
  const stranger = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  const statuses = [await post('{"calls":[]}', stranger), await post('{', key), await post('{"calls":7}', key)];
  expect(statuses).toEqual([401, 400, 400]);
  service.drain();
  expect(await post('{"calls":[]}', key)).toBe(503);
  await fetch(`${service.url}/tool-calls`).then((response) => response.text());
  await fetch(`${service.url}/ready`).then((response) => response.text());
  await service.stop();
  const spans = receiver.spans();
  expect(spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([400, 400]);
  expect(spans.map(({ status }) => status.code)).toEqual(['unset', 'unset']);
  expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual([undefined, undefined]);
  expect(spans.every(({ attributes }) => !('recourse.calls' in attributes))).toBe(true);
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('a-key-that');
});

test('a client that goes away leaves a span without a status', async () => {
  const { receiver, service } = await startTraced();
  const aborting = new AbortController();
  const gone = fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ calls: [{ id: 'a', name: 'wait_for_nobody', arguments: {} }] }),
    signal: aborting.signal,
  }).catch(() => 'gone');
  await expect
    .poll(() => service.metric('recourse_calls_in_flight{pool="inline"}'), { timeout: timeLimit(15_000) })
    .toBe(1);
  aborting.abort();
  expect(await gone).toBe('gone');
  await expect
    .poll(() => service.logLines().some(({ msg }) => msg === 'batch'), { timeout: timeLimit(15_000) })
    .toBe(true);
  await service.stop();
  const { attributes } = onlySpan(receiver.spans(), 'POST /tool-calls');
  expect(attributes['error.type']).toBe('cancelled');
  expect(attributes).not.toHaveProperty('http.response.status_code');
});

test('the lines of the log name the trace', async () => {
  const { receiver, service } = await startTraced();
  await service.call([{ id: 'a', name: 'guide', arguments: {} }]);
  await service.stop();
  const { traceId } = onlySpan(receiver.spans(), 'POST /tool-calls');
  const lines = service.logLines().filter(({ msg }) => msg === 'batch' || msg === 'tool call failed');
  expect(lines.map(({ trace_id }) => trace_id)).toEqual([traceId, traceId]);
});
