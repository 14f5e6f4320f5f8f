import { findClosedPort } from '@recourse/test-support/http-target.ts';
import { onlySpan, startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { callService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const ECHO = { id: 'a', name: 'echo', arguments: { text: 'hello' } };

const start = (endpoint: string, environment: Readonly<Record<string, string>> = {}): Promise<RunningProcess> =>
  startProcess({
    by: 'node',
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '20', ...environment },
  });

const callOften = async (running: RunningProcess, times: number): Promise<readonly boolean[]> => {
  const successes: boolean[] = [];
  for (let time = 0; time < times; time += 1) {
    const [result] = await callService(running.url, [ECHO]);
    successes.push(result?.success ?? false);
  }
  return successes;
};

const stop = async (running: RunningProcess): Promise<number | null> => {
  running.send('SIGTERM', 'service');
  return (await running.exited).code;
};

test('a service that stops sends the spans it still has', async () => {
  const receiver = await startOtlpReceiver();
  const running = await start(receiver.endpoint, {
    OTEL_BSP_SCHEDULE_DELAY: '600000',
    OTEL_SERVICE_NAME: 'tools of acme',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.namespace=agents%20one',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=letmein',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  });
  expect(await callOften(running, 3)).toEqual([true, true, true]);
  expect(receiver.spans()).toEqual([]);
  expect(await stop(running)).toBe(0);
  expect(receiver.spans()).toHaveLength(6);
  expect(receiver.spans()[0]?.resource).toMatchObject({
    'service.name': 'tools of acme',
    'service.namespace': 'agents one',
    'deployment.environment.name': 'staging',
  });
  expect(receiver.exports()[0]?.headers).toMatchObject({
    'x-collector-key': 'letmein',
    'content-type': 'application/x-protobuf',
    'content-encoding': 'gzip',
  });
});

test('spans come while the service runs, as often as it is told', async () => {
  const receiver = await startOtlpReceiver();
  const running = await start(receiver.endpoint);
  await callOften(running, 1);
  const spans = await receiver.received(2);
  expect(onlySpan(spans, 'execute_tool echo').traceId).toBe(onlySpan(spans, 'POST /tool-calls').traceId);
  expect(await stop(running)).toBe(0);
});

test('a collector that fails costs no call, and a line of the log every ten seconds', async () => {
  const before = performance.now();
  const receiver = await startOtlpReceiver('fails');
  const running = await start(receiver.endpoint);
  expect(await callOften(running, 30)).toEqual(Array(30).fill(true));
  const line = await running.logged('spans not sent');
  expect(line).toMatchObject({ level: 40, causes: [{ message: 'Internal Server Error' }] });
  expect(await callOften(running, 30)).toEqual(Array(30).fill(true));
  await expect.poll(() => receiver.exports().length, { timeout: timeLimit(15_000) }).toBeGreaterThan(3);
  const lines = running.logLines().filter(({ msg }) => msg === 'spans not sent');
  expect(lines.length).toBeLessThanOrEqual(1 + Math.floor((performance.now() - before) / 10_000));
  expect(running.logLines().filter(({ level }) => Number(level) > 40)).toEqual([]);
  expect(JSON.stringify(running.logLines())).not.toContain('sk-collector');
  // What failed is not sent again; what comes later is.
  receiver.behave('accepts');
  await callOften(running, 1);
  await receiver.received(2);
  expect(await stop(running)).toBe(0);
});

test('a collector that is not there, hangs or talks garbage costs no call, and does not keep the service from stopping', async () => {
  const hangs = await startOtlpReceiver('hangs');
  const garbage = await startOtlpReceiver('talks_garbage');
  const closed = `http://127.0.0.1:${await findClosedPort()}`;
  for (const endpoint of [closed, hangs.endpoint, garbage.endpoint]) {
    const running = await start(endpoint);
    expect(await callOften(running, 20)).toEqual(Array(20).fill(true));
    const before = performance.now();
    expect(await stop(running)).toBe(0);
    expect(performance.now() - before).toBeLessThan(timeLimit(10_000));
    expect(running.logLines().filter(({ level }) => Number(level) > 40)).toEqual([]);
  }
  expect(hangs.exports().length).toBeGreaterThan(0);
  expect(garbage.exports().length).toBeGreaterThan(0);
});

test('what a collector that hangs would still get is given up after a second', async () => {
  const receiver = await startOtlpReceiver('hangs');
  const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
  await service.call([ECHO]);
  const before = performance.now();
  await service.stop();
  expect(performance.now() - before).toBeLessThan(timeLimit(8000));
  expect(receiver.exports()).toHaveLength(1);
});

test('spans that find no room are dropped, and the log says so', async () => {
  const receiver = await startOtlpReceiver('hangs');
  const running = await start(receiver.endpoint, {
    OTEL_BSP_MAX_QUEUE_SIZE: '4',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
  });
  expect(await callOften(running, 20)).toEqual(Array(20).fill(true));
  await running.logged('spans not sent');
  receiver.behave('accepts');
  await expect
    .poll(
      () => callOften(running, 1).then(() => running.logLines().some(({ msg }) => msg === 'OpenTelemetry warning')),
      {
        timeout: timeLimit(15_000),
      },
    )
    .toBe(true);
  const line = await running.logged('OpenTelemetry warning');
  expect(line['reason']).toMatch(/^Dropped \d+ spans because maxQueueSize reached$/);
  expect(await stop(running)).toBe(0);
});
