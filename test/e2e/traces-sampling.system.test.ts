import { startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { expect, test } from 'vitest';

const start = async (sampling: Readonly<Record<string, string>>) => {
  const receiver = await startOtlpReceiver();
  const running = await startProcess({
    by: 'node',
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_BSP_SCHEDULE_DELAY: '20', ...sampling },
  });
  const stop = async (): Promise<void> => {
    running.send('SIGTERM', 'service');
    expect((await running.exited).code).toBe(0);
  };
  return { receiver, running, stop };
};

const post = async ({ url }: RunningProcess, traceparent?: string): Promise<void> => {
  const response = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(traceparent === undefined ? {} : { traceparent }) },
    body: '{"calls":[{"id":"a","name":"echo","arguments":{"text":"x"}}]}',
  });
  expect(response.status).toBe(200);
  await response.text();
};

const traceIds = ({ logLines }: RunningProcess): readonly unknown[] =>
  logLines().flatMap((line) => (line['msg'] === 'batch' ? [line['trace_id']] : []));

// Their decision depends on the id alone: the exclusive or of its four words, here the first one.
const traceparentOf = (word: string, flags: '00' | '01'): string =>
  `00-${word}${'0'.repeat(23)}1-00f067aa0ba902b7-${flags}`;
const BELOW_HALF = '1fffffff';
const ABOVE_HALF = 'efffffff';

test('a share of 0 sends nothing, and the log still names every trace', async () => {
  const { receiver, running, stop } = await start({
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  for (let time = 0; time < 5; time += 1) await post(running);
  await stop();
  expect(receiver.exports()).toEqual([]);
  expect(new Set(traceIds(running)).size).toBe(5);
});

test('a share of one half sends whole traces or nothing of them', async () => {
  const { receiver, running, stop } = await start({
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  });
  await post(running, traceparentOf(BELOW_HALF, '00'));
  await post(running, traceparentOf(ABOVE_HALF, '01'));
  for (let time = 0; time < 60; time += 1) await post(running);
  await stop();
  const byTrace = Map.groupBy(receiver.spans(), ({ traceId }) => traceId);
  const names = [...byTrace.values()].map((spans) => spans.map(({ name }) => name).sort());
  expect(names.every((pair) => pair.join() === 'POST /tool-calls,execute_tool echo')).toBe(true);
  expect(byTrace.has(`${BELOW_HALF}${'0'.repeat(23)}1`)).toBe(true);
  expect(byTrace.has(`${ABOVE_HALF}${'0'.repeat(23)}1`)).toBe(false);
  // Of 60 fair coins fewer than 8 heads, or tails, come once in a thousand million runs.
  expect(byTrace.size).toBeGreaterThan(8);
  expect(byTrace.size).toBeLessThan(54);
});

test('without a sampler the caller decides, and who has none is sampled', async () => {
  const { receiver, running, stop } = await start({});
  await post(running, traceparentOf(BELOW_HALF, '00'));
  await post(running, traceparentOf(ABOVE_HALF, '01'));
  await post(running);
  await stop();
  const sent = new Set(receiver.spans().map(({ traceId }) => traceId));
  expect(sent.size).toBe(2);
  expect(sent.has(`${BELOW_HALF}${'0'.repeat(23)}1`)).toBe(false);
  expect(sent.has(`${ABOVE_HALF}${'0'.repeat(23)}1`)).toBe(true);
});

test('a sampler that nobody knows is ignored, and the log says which variable', async () => {
  const { receiver, running, stop } = await start({ OTEL_TRACES_SAMPLER: 'sometimes' });
  await post(running);
  await stop();
  expect(receiver.spans()).toHaveLength(2);
  const line = running.logLines().find(({ msg }) => msg === 'OpenTelemetry variable ignored');
  expect(line).toMatchObject({ level: 40, variable: 'OTEL_TRACES_SAMPLER' });
});
