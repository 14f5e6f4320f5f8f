import { foldEvents, type SeenEvent, startStreams, streamBatch } from '@recourse/test-support/stream-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const LIMITS = { MAX_RESULT_BYTES: '20000', MAX_ANSWER_BYTES: '60000', REQUEST_MEMORY_MB: '64' };

const anyCall = fc.oneof(
  fc.record({
    name: fc.constant('gives'),
    arguments: fc.record({
      length: fc.constantFrom(1, 2000, 15_000, 19_000, 30_000),
      afterMs: fc.constantFrom(0, 1, 5),
    }),
  }),
  fc.record({
    name: fc.constantFrom('gives_now', 'throws', 'breaks', 'hangs', 'alone', 'not_there', 'throw'),
    arguments: fc.constant({}),
  }),
  fc.record({
    name: fc.constant('counts'),
    arguments: fc.record({ to: fc.integer({ min: 0, max: 40 }), fails: fc.boolean() }),
  }),
  fc.constantFrom<unknown>(
    { name: 'gives', arguments: { length: 'x' } },
    { name: 'gives', arguments: '{' },
    7,
    {},
    { name: 3 },
  ),
);

const anyBatch = fc.record({
  calls: fc
    .array(fc.tuple(anyCall, fc.option(fc.constantFrom<string | number>('a', 'b', 'c', 4), { nil: undefined })), {
      maxLength: 8,
    })
    .map((calls) => calls.map(([call, id]) => (typeof call === 'object' && call !== null ? { id, ...call } : call))),
  order: fc.constantFrom('parallel', 'sequential'),
  on_error: fc.constantFrom('continue', 'stop'),
  unknown_member: fc.option(fc.constant(1), { nil: undefined }),
});

/** Without what is never the same twice. */
const stable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, member: unknown) =>
      ['duration_ms', 'reference', 'request_id', 'status', 'effect_id'].includes(key) ? '' : member,
    ),
  );

const post = async (url: string, batch: unknown, query = ''): Promise<unknown> => {
  const body = JSON.stringify(batch);
  const response = await fetch(`${url}/tool-calls${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  return response.json();
};

test(
  'folding a stream of either format gives the body that the same batch has as JSON',
  async () => {
    const { url } = await startStreams(undefined, LIMITS);
    await fc.assert(
      fc.asyncProperty(anyBatch, async (batch) => {
        const [body, sse, ndjson] = await Promise.all([
          post(url, batch),
          streamBatch(url, batch, { format: 'sse' }),
          streamBatch(url, batch, { format: 'ndjson' }),
        ]);
        const expected = stable({ ...Object(body), status: '' });
        expect(stable(foldEvents(sse.events))).toEqual(expected);
        expect(stable(foldEvents(ndjson.events))).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  },
  timeLimit(120_000),
);

const namesOf = (events: readonly SeenEvent[]): readonly string[] => events.map(({ event }) => event);

test('a success is told when it ends, whatever still runs; a failure when its round is settled', async () => {
  const { url } = await startStreams();
  const calls = [
    { name: 'gives', arguments: { length: 1, afterMs: 300 } },
    { name: 'throws' },
    { name: 'gives', arguments: { length: 5000, afterMs: 1 } },
    { name: 'gives_now' },
  ];
  const { events } = await streamBatch(url, { calls, session_id: 's' }, { format: 'sse' });
  const order = events.flatMap(({ event, data }) => (event === 'result' ? [Object(data).index] : []));
  expect(order).toEqual([3, 2, 0, 1]);
  expect(namesOf(events).filter((name) => name === 'result')).toHaveLength(4);
});

test('what a copy of a call is answered, and the call itself, are told at the end', async () => {
  const { url } = await startStreams();
  const [slow, quick] = [100, 1].map((afterMs) => ({
    id: `c${afterMs}`,
    name: 'gives',
    arguments: { length: 1, afterMs },
  }));
  const { events } = await streamBatch(url, { calls: [slow, quick, quick] }, { format: 'ndjson' });
  const results = events.filter(({ event }) => event === 'result').map(({ data }) => Object(data));
  expect(results.map(({ index, replayed }) => [index, replayed])).toEqual([
    [0, undefined],
    [1, undefined],
    [2, true],
  ]);
});

test('a value that has no room behind earlier ones is left out of a stream as it is out of the body', async () => {
  const { url } = await startStreams(undefined, LIMITS);
  const calls = [50, 1, 1, 1, 1].map((afterMs, place) => ({
    name: 'gives',
    arguments: { length: 15_000 + place, afterMs },
  }));
  const [body, { events }] = await Promise.all([post(url, { calls }), streamBatch(url, { calls }, { format: 'sse' })]);
  expect(stable(foldEvents(events))).toEqual(stable({ ...Object(body), status: '' }));
  expect(Object(foldEvents(events)['results']).map(({ success }: { success: boolean }) => success)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
