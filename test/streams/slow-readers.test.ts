import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { FORMATS, followEvents, readEvents, sendFor, startStreams } from '@recourse/test-support/stream-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { openUnread } from './raw-stream.ts';

const heard: string[] = [];

const listens = (name: string, effects: 'read' | 'write') =>
  defineTool({
    name,
    description: 'Waits until nobody waits for it any more.',
    effects,
    input: z.object({}),
    run: (_input, { signal, part }) =>
      new Promise((resolve) => {
        part('listening');
        signal.addEventListener('abort', () => {
          heard.push(name);
          resolve('aborted');
        });
      }),
  });

const shows = defineTool({
  name: 'shows',
  description: 'Shows many parts, and then gives a large value.',
  effects: 'read',
  input: z.object({ parts: z.number(), length: z.number() }),
  run: async function* ({ parts, length }) {
    for (let at = 0; at < parts; at += 1) yield { at, text: 'p'.repeat(length) };
    return 'v'.repeat(900_000);
  },
});

let given = 0;
const gives = defineTool({
  name: 'gives',
  description: 'Gives a large value after a while.',
  effects: 'read',
  input: z.object({}),
  run: async () => {
    given += 1;
    await wait(100);
    return 'v'.repeat(900_000);
  },
});

const TOOLS = [gives, listens('reads', 'read'), listens('writes', 'write'), shows];
const POST = (accept: string, batch: unknown): string => {
  const body = JSON.stringify(batch);
  return `POST /tool-calls HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: ${accept}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};
const UNTIL = { timeout: timeLimit(20_000), interval: 20 };

test.each(FORMATS)('who goes away in the middle ends the calls that may be ended (%s)', async (format) => {
  heard.length = 0;
  const service = await startStreams(TOOLS);
  const leaving = new AbortController();
  const response = await sendFor(
    service.url,
    { calls: [{ name: 'reads' }, { name: 'writes' }], deadline_ms: 1500 },
    { format },
    leaving.signal,
  );
  const parts = followEvents(response, format);
  while ((await parts.next()).value?.event !== 'part');
  expect(await service.metric('recourse_streams_open')).toBe(1);
  leaving.abort();
  await expect.poll(() => heard, UNTIL).toEqual(['reads']);
  await expect.poll(() => service.metric('recourse_streams_open'), UNTIL).toBe(0);
  await expect.poll(() => heard, UNTIL).toEqual(['reads', 'writes']);
});

test(
  'a reader that is slow misses parts, and no result',
  async () => {
    const service = await startStreams(TOOLS);
    const calls = Array.from({ length: 12 }, (_, index) => ({
      id: index,
      name: 'shows',
      arguments: { parts: 100, length: 20_000 },
    }));
    const socket = await openUnread(service.port, POST('application/x-ndjson', { calls }));
    const dropped = () => service.metric('recourse_stream_events_dropped_total{event="part"}');
    await expect.poll(dropped, UNTIL).toBeGreaterThan(100);
    await expect.poll(() => service.metric('recourse_calls_in_flight{pool="inline"}'), UNTIL).toBe(0);
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.endsWith('\r\n0\r\n\r\n')) break;
    }
    // The body without the sizes of its chunks.
    const body = text.slice(text.indexOf('\r\n\r\n') + 4).replace(/(^|\r\n)[0-9a-f]+\r\n/g, '');
    const events = readEvents(body.trimEnd(), 'ndjson');
    expect(events.filter(({ event }) => event === 'result')).toHaveLength(12);
    expect(events.at(-1)?.event).toBe('done');
    const parts = events.filter(({ event }) => event === 'part').length;
    expect(parts).toBe(1200 - ((await dropped()) ?? 0));
    await expect.poll(() => service.metric('recourse_request_memory_bytes'), UNTIL).toBe(0);
  },
  timeLimit(60_000),
);

test(
  'streams that nobody reads are ended like other answers, whatever is added to them, and harm no others',
  async () => {
    heard.length = 0;
    const service = await startStreams(TOOLS, {
      ANSWER_STALL_MS: '900',
      MAX_ANSWER_BYTES: '16777216',
      REQUEST_MEMORY_MB: '1024',
    });
    const calls = [
      ...Array.from({ length: 15 }, (_, index) => ({
        id: index,
        name: 'shows',
        arguments: { parts: 500, length: 5000 },
      })),
      { name: 'reads' },
    ];
    const sockets = await Promise.all(
      Array.from({ length: 4 }, () => openUnread(service.port, POST('text/event-stream', { calls }))),
    );
    const closed = Promise.all(
      sockets.map((socket) =>
        once(
          socket.on('close', () => undefined),
          'close',
        ).catch(() => []),
      ),
    );
    const stalled = () => service.metric('recourse_connections_stalled_total');
    while (((await stalled()) ?? 0) < 4) {
      const from = performance.now();
      const [result] = await service.call([{ name: 'echo', arguments: { text: 'here' } }]);
      expect(result?.success).toBe(true);
      expect(performance.now() - from).toBeLessThan(timeLimit(5000));
      await wait(20);
    }
    await expect.poll(() => heard.filter((name) => name === 'reads').length, UNTIL).toBe(4);
    await expect.poll(() => service.metric('recourse_request_memory_bytes'), UNTIL).toBe(0);
    for (const socket of sockets) socket.resume();
    await closed;
  },
  timeLimit(60_000),
);

test(
  'results that are added to a stream are no sign that anybody reads it',
  async () => {
    const limits = { ANSWER_STALL_MS: '600', MAX_ANSWER_BYTES: '67108864', REQUEST_MEMORY_MB: '2048' };
    const service = await startStreams(TOOLS, limits);
    const calls = Array.from({ length: 60 }, (_, id) => ({ id, name: 'gives' }));
    await openUnread(service.port, POST('text/event-stream', { calls, order: 'sequential' }));
    await expect.poll(() => service.metric('recourse_connections_stalled_total'), UNTIL).toBe(1);
    // Not when the last one had been added.
    expect(given).toBeLessThan(50);
  },
  timeLimit(60_000),
);
