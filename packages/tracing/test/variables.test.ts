import { expect, test } from 'vitest';
import { readSdkVariables } from '#src/otel-sdk.ts';

test('without variables everything is sampled unless the caller said no, and the queue is as the SDK has it', () => {
  expect(readSdkVariables({})).toEqual({
    sampling: { root: 'always_on', parent: 'followed', ratio: 1 },
    queue: {},
    ignored: [],
  });
});

test.each([
  ['always_on', 'always_on', 'ignored'],
  ['always_off', 'always_off', 'ignored'],
  ['traceidratio', 'traceidratio', 'ignored'],
  ['parentbased_always_on', 'always_on', 'followed'],
  ['parentbased_always_off', 'always_off', 'followed'],
  [' parentbased_traceidratio ', 'traceidratio', 'followed'],
])('the sampler %j is known', (name, root, parent) => {
  const { sampling, ignored } = readSdkVariables({ OTEL_TRACES_SAMPLER: name });
  expect(sampling).toEqual({ root, parent, ratio: 1 });
  expect(ignored).toEqual([]);
});

test.each([
  ['0', 0],
  ['0.25', 0.25],
  ['1', 1],
  ['1e-3', 0.001],
])('a share of %s is one', (text, ratio) => {
  const { sampling } = readSdkVariables({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: text });
  expect(sampling.ratio).toBe(ratio);
});

test.each(['-0.1', '1.1', 'half', 'NaN', 'Infinity', '50%'])('a share of %s is none', (text) => {
  const read = readSdkVariables({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: text });
  expect(read.sampling.ratio).toBe(1);
  expect(read.ignored).toEqual(['OTEL_TRACES_SAMPLER_ARG']);
});

test('the queue is as large and as quick as the variables say', () => {
  const { queue, ignored } = readSdkVariables({
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_BSP_EXPORT_TIMEOUT: '1000',
    OTEL_BSP_MAX_QUEUE_SIZE: '8192',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '',
  });
  expect(queue).toEqual({ scheduledDelayMillis: 200, exportTimeoutMillis: 1000, maxQueueSize: 8192 });
  expect(ignored).toEqual([]);
});

test.each(['0', '-1', '1.5', 'many', '1e99'])('a queue of %s is none, and the variable is named', (text) => {
  const { queue, ignored } = readSdkVariables({ OTEL_BSP_MAX_QUEUE_SIZE: text });
  expect([queue, ignored]).toEqual([{}, ['OTEL_BSP_MAX_QUEUE_SIZE']]);
});
