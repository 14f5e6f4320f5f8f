import { setTimeout as wait } from 'node:timers/promises';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';

export type StreamFormat = 'sse' | 'ndjson';
export const FORMATS = ['sse', 'ndjson'] as const;
export const ACCEPT = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const;

export type SeenEvent = { readonly event: string; readonly id: string; readonly data: unknown };

const Line = z.object({ event: z.string(), id: z.string(), data: z.unknown() });

const toSseEvent = (block: string): SeenEvent => {
  const fields = new Map(
    block
      .split('\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  expect([...fields.keys()]).toEqual(['event', 'id', 'data']);
  return { event: fields.get('event') ?? '', id: fields.get('id') ?? '', data: JSON.parse(fields.get('data') ?? '') };
};

/** The events of a whole stream, without signs of life; SSE begins with when to come again. */
export const readEvents = (text: string, format: StreamFormat): readonly SeenEvent[] => {
  if (format === 'ndjson')
    return text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '{"event":"heartbeat"}')
      .map((line) => Line.parse(JSON.parse(line)));
  const [first, ...blocks] = text.split('\n\n');
  expect(first).toBe('retry: 2000');
  expect(blocks.pop()).toBe('');
  return blocks.filter((block) => block !== ':').map(toSseEvent);
};

const Accepted = z.object({ request_id: z.string(), session_id: z.string().nullable(), calls: z.array(z.unknown()) });
const Result = z.looseObject({ index: z.number() });
const Done = z.looseObject({ status: z.literal('done') });

/** What a stream comes to: the body of the same answer as JSON, beside its `status`. Checks the order of its events. */
export const foldEvents = (events: readonly SeenEvent[]): Readonly<Record<string, unknown>> => {
  const [accepted, ...rest] = events;
  const done = rest.pop();
  expect([accepted?.event, done?.event]).toEqual(['accepted', 'done']);
  expect(events.map(({ id }) => Number(id))).toEqual(events.map(({ id }) => Number(id)).toSorted((a, b) => a - b));
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const { request_id, session_id, calls } = Accepted.parse(accepted?.data);
  const results: z.infer<typeof Result>[] = [];
  for (const { event, data } of rest) {
    expect(['result', 'progress', 'part']).toContain(event);
    if (event !== 'result') continue;
    const result = Result.parse(data);
    expect(results[result.index]).toBeUndefined();
    results[result.index] = result;
  }
  expect(calls).toEqual(results.map(({ index, id, name }) => ({ index, id, name })));
  const end = Done.parse(done?.data);
  expect([end['request_id'], end['session_id']]).toEqual([request_id, session_id]);
  return { ...end, results };
};

export type Streamed = { readonly response: Response; readonly text: string; readonly events: readonly SeenEvent[] };

type Sent = {
  readonly format: StreamFormat;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
};

export const sendFor = (
  url: string,
  body: unknown,
  { format, headers = {}, query = '' }: Sent,
  signal: AbortSignal | null = null,
): Promise<Response> =>
  fetch(`${url}/tool-calls${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: ACCEPT[format], ...headers },
    body: JSON.stringify(body),
    signal,
  });

export const streamBatch = async (url: string, body: unknown, sent: Sent): Promise<Streamed> => {
  const response = await sendFor(url, body, sent);
  expect(response.status).toBe(200);
  const text = await response.text();
  return { response, text, events: readEvents(text, sent.format) };
};

/** Gives the events of a stream as they come. */
export async function* followEvents(response: Response, format: StreamFormat): AsyncGenerator<SeenEvent> {
  const separator = format === 'sse' ? '\n\n' : '\n';
  let text = '';
  for await (const chunk of (response.body ?? expect.fail('no body')).pipeThrough(new TextDecoderStream())) {
    const blocks = `${text}${chunk}`.split(separator);
    text = blocks.pop() ?? '';
    yield* blocks.flatMap((block) => toEvents(block, format));
  }
}

const toEvents = (block: string, format: StreamFormat): readonly SeenEvent[] => {
  if (format === 'ndjson') return [Line.parse(JSON.parse(block))];
  return block.startsWith('event:') ? [toSseEvent(block)] : [];
};

const any = { type: 'object', additionalProperties: true } as const;

/** Tools that end in all ways: with values small and large, exceptions, at their time limits, after each other. */
export const endingTools: readonly Tool[] = [
  defineTool({
    name: 'gives',
    description: 'Gives a text.',
    effects: 'read',
    input: z.object({ length: z.number(), afterMs: z.number() }),
    run: async ({ length, afterMs }, { part, progress }) => {
      progress({ progress: 1, total: 2, message: 'one' });
      part({ length });
      if (afterMs > 0) await wait(afterMs);
      return { text: 'x'.repeat(length) };
    },
  }),
  defineTool({ name: 'gives_now', description: '', effects: 'write', input: any, run: () => [1, 'ü\n\u2028', null] }),
  defineTool({
    name: 'throws',
    description: '',
    effects: 'read',
    input: any,
    run: async () => {
      await wait(1);
      throw new RetryableToolError('Not like this.', { hint: 'Do it otherwise.', value: { page: 1 } });
    },
  }),
  defineTool({
    name: 'breaks',
    description: '',
    effects: 'write',
    input: any,
    run: () => Promise.reject(new Error('no')),
  }),
  defineTool({
    name: 'hangs',
    description: '',
    effects: 'read',
    input: any,
    timeoutMs: 20,
    run: () => new Promise(() => undefined),
  }),
  defineTool({
    name: 'alone',
    description: '',
    effects: 'read',
    input: any,
    sequential: true,
    run: () => wait(1, 'alone'),
  }),
  defineTool({
    name: 'counts',
    description: '',
    effects: 'read',
    input: z.object({ to: z.number(), fails: z.boolean() }),
    run: async function* ({ to, fails }) {
      for (let at = 1; at <= to; at += 1) yield { at };
      if (fails) throw new Error('after all');
      return { counted: to };
    },
  }),
];

export const startStreams = async (
  tools: readonly Tool[] = endingTools,
  environment: Readonly<Record<string, string>> = {},
  parts: { readonly streamHeartbeatMs?: number } = {},
): Promise<RunningService> => {
  const service = await startService({ CIRCUIT_FAILURES: '0', ...environment }, tools, parts);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};
