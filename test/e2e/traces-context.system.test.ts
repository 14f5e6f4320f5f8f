import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { onlySpan, startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { defineTool } from '#src/recourse.ts';
import type { Tool } from '#src/tools/tool.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const FROM_CALLER = `00-${TRACE}-${CALLER}-01`;

// Gives back the traceparent it got.
const probe: Tool = defineTool({
  name: 'probe',
  description: '',
  effects: 'read',
  input: { type: 'object' },
  run: (_input, { traceparent }) => ({ traceparent }),
});

const post = async (service: RunningService, headers: Readonly<Record<string, string>>, name = 'probe') => {
  const response = await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ calls: [{ id: 'a', name, arguments: {} }] }),
  });
  const { results } = ToolCallsResponse.parse(await response.json());
  const [result] = results;
  if (result === undefined) throw new Error('The answer holds no result.');
  return { result, headers: response.headers };
};

test('a caller that traces finds the batch in its own trace', async () => {
  const receiver = await startOtlpReceiver();
  const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint }, [probe]);
  const { result, headers } = await post(service, { traceparent: FROM_CALLER, tracestate: 'vendor=a1, other=b2' });
  await service.stop();
  const batch = onlySpan(receiver.spans(), 'POST /tool-calls');
  const call = onlySpan(receiver.spans(), 'execute_tool probe');
  expect(batch).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, traceState: 'vendor=a1,other=b2' });
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: batch.spanId, traceState: 'vendor=a1,other=b2' });
  expect(result.value).toEqual({ traceparent: `00-${TRACE}-${call.spanId}-01` });
  expect(service.logLines().find(({ msg }) => msg === 'batch')?.['trace_id']).toBe(TRACE);
  expect([headers.get('traceparent'), headers.get('server-timing')]).toEqual([null, null]);
});

test('a tool in a host of its own carries the trace to its upstream', async () => {
  const receiver = await startOtlpReceiver();
  const upstream = await startHttpTarget(answering(200, {}, 'here'));
  const { root } = makeDirectory({
    'lookup.ts': `
      import { defineTool } from 'recourse-server';
      export const lookup = defineTool({
        name: 'lookup', description: '', effects: 'read', input: { type: 'object' },
        run: async (_input, { traceparent }) => {
          const answer = await fetch('${upstream.origin}/', { headers: { traceparent: traceparent ?? 'none' } });
          return answer.text();
        },
      });
    `,
  });
  const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, TOOLS_DIR: root });
  const { result } = await post(service, { traceparent: FROM_CALLER }, 'lookup');
  expect(result).toMatchObject({ success: true, value: 'here' });
  await service.stop();
  const call = onlySpan(receiver.spans(), 'execute_tool lookup');
  expect(call.parentSpanId).toBe(onlySpan(receiver.spans(), 'POST /tool-calls').spanId);
  expect(upstream.requests.map(({ headers }) => headers['traceparent'])).toEqual([`00-${TRACE}-${call.spanId}-01`]);
});

test('a malformed traceparent is ignored, and a trace of its own begins', async () => {
  const receiver = await startOtlpReceiver();
  const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint }, [probe]);
  const malformed = [
    'garbage',
    FROM_CALLER.toUpperCase(),
    FROM_CALLER.replace('00-', 'ff-'),
    `${FROM_CALLER}-more`,
    `${FROM_CALLER}, ${FROM_CALLER}`,
    `00-${'0'.repeat(32)}-${CALLER}-01`,
  ];
  for (const traceparent of malformed)
    expect((await post(service, { traceparent, tracestate: 'vendor=a1' })).result).toMatchObject({ success: true });
  await service.stop();
  const batches = receiver.spans().filter(({ name }) => name === 'POST /tool-calls');
  expect(batches.map(({ parentSpanId, traceState }) => [parentSpanId, traceState])).toEqual(
    malformed.map(() => ['', '']),
  );
  expect(new Set(batches.map(({ traceId }) => traceId)).size).toBe(malformed.length);
  expect(batches.map(({ traceId }) => traceId)).not.toContain(TRACE);
});

test('without a collector the log names the trace of a caller, and tools get what it sent', async () => {
  const service = await startService({}, [probe]);
  const { result } = await post(service, { traceparent: FROM_CALLER });
  expect(result.value).toEqual({ traceparent: FROM_CALLER });
  expect((await post(service, {})).result.value).toEqual({ traceparent: null });
  expect((await post(service, { traceparent: `${FROM_CALLER}x` })).result.value).toEqual({ traceparent: null });
  await service.stop();
  const batches = service.logLines().filter(({ msg }) => msg === 'batch');
  expect(batches.map((line) => line['trace_id'])).toEqual([TRACE, undefined, undefined]);
});
