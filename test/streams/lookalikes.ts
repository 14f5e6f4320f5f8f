// Values that look like what the service writes around values, and every way that an answer can take.

import { explainResult } from '@recourse/dialects/observation';
import type { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { writeTurn } from '@recourse/test-support/formats/conversation.ts';
import { MODERN_META, postModern } from '@recourse/test-support/mcp-clients.ts';
import { FORMATS, readEvents, type SeenEvent, streamBatch } from '@recourse/test-support/stream-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { expect } from 'vitest';
import * as z from 'zod';
import { ToolResult } from '#src/contract/tool-result.ts';
import { defineTool } from '#src/tools/define-tool.ts';

type Format = (typeof ALL_FORMATS)[number];

const PENDING = `"pending":{"call":"c_${'A'.repeat(22)}","state":"running","since":"2026-01-01T00:00:00.000Z","expires_at":"2026-01-02T00:00:00.000Z","poll_after_ms":1,"progress":null,"approval":null}`;
const BARE_END = '"message":"","error":null,"retry":null,"duration_ms":1';

/** JSON texts that the service itself could have written, whole or in part. */
const ENVELOPES = [
  '{"success":false,"outcome":"pending","x":1}',
  `{"index":0,"id":null,"name":"x","success":false,"outcome":"pending","executed":"maybe","value":null,"message":"","error":null,"retry":null,${PENDING},"duration_ms":1}`,
  `{"index":1,"id":"b","name":"x","success":true,"outcome":"success","executed":"yes","value":{"a":1},${BARE_END}}`,
  `{"b":1,${BARE_END}}`,
  `{${PENDING}}`,
  '{"success":false,"outcome":"unknown","executed":"maybe","error":{"code":"outcome_unknown","type":"x","fatal":true}}',
  '{"request_id":"0123456789abcdef","session_id":null,"status":"done"}',
  '{"status":"pending","results":[]}',
  '{"event":"done","id":"9","data":{"status":"done"}}',
  '{"event":"heartbeat"}',
  '{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"x"}}',
  '{"replayed":true,"truncated":true,"empty":true,"warnings":[{"code":"x","message":"y"}]}',
] as const;

const TEXTS = [
  '',
  'pending',
  'done',
  '\n\nevent: done\ndata: {"status":"done"}\n\n',
  '\r\n{"event":"done","id":"9","data":{"status":"done"}}\n',
  ': the call is still running\n\n',
  '"success":false,"outcome":"pending",',
  's":true,"outcome":"success","executed":"yes","value":',
  `,${BARE_END}}`,
  '"tools":[]',
  'ERROR: timeout: no',
  'SUCCESS: ',
  '\u2028\u2029\u0085\0',
  '\ud83d half',
  ...ENVELOPES,
] as const;

const NAMES = [
  ...['success', 'outcome', 'pending', 'executed', 'status', 'value', 'results', 'event', 'data', 'id', 'index'],
  ...['error', 'retry', 'duration_ms', 'replayed', 'message', 'part', 'call', '__proto__', 'constructor', '\u2028'],
] as const;

/** A JSON text of a value; objects are never made of it here, so that `__proto__` is a member like others. */
const AnyValue: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(...ENVELOPES),
    fc.constantFrom<unknown>(...TEXTS, null, true, false, 0, -1.5).map((leaf) => JSON.stringify(leaf)),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 4, selector: ([name]) => name })
      .map((members) => `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc.json({ maxDepth: 2 }),
  ),
})).value;

/** Two values, under ids that look like results, too. */
export const AnyCalls = fc.tuple(AnyValue, AnyValue, fc.constantFrom(...TEXTS)).map(([first, second, id]) => [
  { id: `1${id}`, name: 'give', arguments: { json: first } },
  { id: `2${id}`, name: 'give', arguments: { json: second } },
]);
export type Calls = readonly {
  readonly id: string;
  readonly name: string;
  readonly arguments: { readonly json: string };
}[];

export const GIVE = defineTool({
  name: 'give',
  description: 'Gives the value of a JSON text.',
  effects: 'read',
  background: 'optional',
  input: z.object({ json: z.string() }),
  run: async ({ json }, { part }) => {
    const value: unknown = JSON.parse(json);
    part(value);
    return value;
  },
});

/** What a result says, whenever and under which place it is asked for. The order of members counts. */
export const toSaid = (result: unknown): string => {
  const { id, name, success, outcome, executed, value, message, error, retry, empty = null } = ToolResult.parse(result);
  return JSON.stringify({ id, name, success, outcome, executed, value, message, error, retry, empty });
};

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

const send = async (url: string, path: string, init: RequestInit = {}): Promise<Answer> => {
  const answer = await fetch(`${url}${path}`, init);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

const post = (url: string, body: unknown, headers: Record<string, string> = {}, query = ''): Promise<Answer> =>
  send(url, `/tool-calls${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const Body = z.looseObject({ results: z.array(z.unknown()) });

const resultsOf = ({ text }: Answer): readonly string[] => Body.parse(JSON.parse(text)).results.map(toSaid);

const resultsIn = (events: readonly SeenEvent[]): readonly string[] => {
  const told = events.filter(({ event }) => event === 'result').map(({ data }) => ToolResult.parse(data));
  return told.toSorted((a, b) => a.index - b.index).map(toSaid);
};

const doneIn = (events: readonly SeenEvent[]): unknown => {
  const last = events.at(-1);
  expect(last?.event).toBe('done');
  return Object(last?.data);
};

const freshKey = (): string => crypto.randomUUID();
const ASYNC = { prefer: 'respond-async, wait=0' };

/** The body of a batch that has ended. */
const waitForEnd = async (url: string, requestId: string, query = ''): Promise<Answer> => {
  const answer = await send(url, `/tool-calls/${requestId}?wait_ms=20000${query}`);
  expect([answer.status, JSON.parse(answer.text).status ?? 'done']).toEqual([200, 'done']);
  return answer;
};

/** What the plain body says of the calls, which every other way has to say. Checks it against the values themselves. */
export const askPlainly = async (url: string, calls: Calls): Promise<readonly string[]> => {
  const answer = await post(url, { calls });
  const results = Body.parse(JSON.parse(answer.text)).results.map((result) => ToolResult.parse(result));
  for (const [index, { success, outcome, value }] of results.entries()) {
    const sent: unknown = JSON.parse(calls[index]?.arguments.json ?? '');
    expect([success, outcome, JSON.stringify(value)]).toEqual([true, 'success', toWellFormed(JSON.stringify(sent))]);
  }
  return results.map(toSaid);
};

// What half a character becomes in every answer.
const toWellFormed = (json: string): string => json.replaceAll('\\ud83d half', '\ufffd half');

const streamed = async (url: string, calls: Calls): Promise<readonly (readonly string[])[]> =>
  Promise.all(
    FORMATS.map(async (format) => {
      const { events } = await streamBatch(url, { calls }, { format });
      expect(doneIn(events)).toMatchObject({ status: 'done' });
      return resultsIn(events);
    }),
  );

const keyed = async (url: string, calls: Calls): Promise<readonly (readonly string[])[]> => {
  const headers = { 'idempotency-key': freshKey() };
  const first = await post(url, { calls }, headers);
  const requestId = first.headers.get('x-request-id') ?? '';
  const again = await post(url, { calls }, headers);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const { events } = await streamBatch(url, { calls }, { format: 'ndjson', headers });
  return [first, again, await send(url, `/tool-calls/${requestId}`)].map(resultsOf).concat([resultsIn(events)]);
};

const asynchronous = async (url: string, calls: Calls): Promise<readonly (readonly string[])[]> => {
  const accepted = await post(url, { calls }, ASYNC);
  expect([200, 202]).toContain(accepted.status);
  const requestId = accepted.headers.get('x-request-id') ?? '';
  const ended = resultsOf(await waitForEnd(url, requestId));
  const later = await send(url, `/tool-calls/${requestId}/events`, { headers: { accept: 'text/event-stream' } });
  const [snapshot] = readEvents(later.text, 'sse');
  const { events } = await streamBatch(url, { calls }, { format: 'sse', headers: ASYNC });
  expect(doneIn(events)).toMatchObject({ status: 'done' });
  return [ended, Body.parse(snapshot?.data).results.map(toSaid), resultsIn(events)];
};

/** Whoever asks for the events of a batch that has just begun gets each result in the snapshot or behind it. */
const watched = async (url: string, calls: Calls): Promise<readonly string[]> => {
  const accepted = await post(url, { calls }, ASYNC);
  const requestId = accepted.headers.get('x-request-id') ?? '';
  const { text } = await send(url, `/tool-calls/${requestId}/events`, { headers: { accept: 'application/x-ndjson' } });
  const [snapshot, ...events] = readEvents(text, 'ndjson');
  const late = events.filter(({ event }) => event === 'result').map(({ data }) => data);
  const early = Body.parse(snapshot?.data).results.filter((result) => ToolResult.parse(result).outcome !== 'pending');
  return [...early, ...late]
    .map((result) => ToolResult.parse(result))
    .toSorted((a, b) => a.index - b.index)
    .map(toSaid);
};

/** Every way but the plain body that gives results in our own form. */
export const askInEveryWay = async (url: string, calls: Calls): Promise<readonly (readonly string[])[]> =>
  (
    await Promise.all([
      streamed(url, calls),
      keyed(url, calls),
      asynchronous(url, calls),
      watched(url, calls).then((results) => [results]),
    ])
  ).flat();

const TASKS = {
  ...MODERN_META,
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

const CallResult = z.looseObject({ content: z.array(z.looseObject({ text: z.string() })), isError: z.boolean() });
const toTold = (result: unknown): string => {
  const { content, isError } = CallResult.parse(result);
  const structured = Object(result).structuredContent ?? null;
  return JSON.stringify({ texts: content.map(({ text }) => text), isError, structured });
};

const callMcp = async (url: string, params: Readonly<Record<string, unknown>>, headers = {}): Promise<unknown> =>
  Object((await postModern(url, 'taskId' in params ? 'tasks/get' : 'tools/call', params, headers)).messages.at(-1))
    .result;

/** What a call comes to at /mcp: at once, and as a task. */
export const askMcp = async (url: string, [call]: Calls): Promise<readonly string[]> => {
  const params = { name: 'give', arguments: call?.arguments };
  const plain = toTold(await callMcp(url, params));
  const { taskId } = Object(await callMcp(url, { ...params, _meta: TASKS }));
  let task: Readonly<Record<string, unknown>> = {};
  const ask = async (): Promise<unknown> => {
    task = { ...Object(await callMcp(url, { taskId, _meta: TASKS }, { 'mcp-name': taskId })) };
    return task['status'];
  };
  await expect.poll(ask, { timeout: timeLimit(20_000), interval: 5 }).toBe('completed');
  return [plain, toTold(task['result'])];
};

/** The same of a result, as the plain body has it. */
export const toMcp = (said = ''): string => {
  const result = ToolResult.parse({
    ...JSON.parse(said),
    index: 0,
    duration_ms: 0,
    empty: JSON.parse(said).empty ?? undefined,
  });
  const { value } = result;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return JSON.stringify({ texts: [explainResult(result)], isError: false, structured: isObject ? value : null });
};

const Messages = z.looseObject({ messages: z.array(z.unknown()) });
const messagesOf = (body: unknown): string => JSON.stringify(Messages.parse(body).messages);

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

/**
 * The messages of a turn of the format, by body, stream and replay, as texts; and whether those for calls that ended late
 * hold the same words.
 */
const askInFormat = async (url: string, format: Format, calls: Calls, said: readonly string[]) => {
  const body = writeTurn(format, calls);
  const query = `?format=${format}`;
  const headers = { 'idempotency-key': freshKey() };
  const plain = await post(url, body, {}, query);
  const { events } = await streamBatch(url, body, { format: 'sse', query });
  const first = await post(url, body, headers, query);
  const replay = await post(url, body, headers, query);
  const accepted = await post(url, body, ASYNC, query);
  const isLate = accepted.status === 202;
  const late = await waitForEnd(url, accepted.headers.get('x-request-id') ?? '', `&format=${format}`);
  const lateText = textsIn(Messages.parse(JSON.parse(late.text)).messages).join('\n');
  const told = isLate ? said.map((one) => lateText.includes(JSON.parse(toMcp(one)).texts[0])) : [];
  return {
    results: [plain, first, replay].map(resultsOf).concat([resultsIn(events)]),
    messages: [plain, first, replay]
      .map(({ text }) => messagesOf(JSON.parse(text)))
      .concat([messagesOf(doneIn(events))]),
    isTold: !told.includes(false),
  };
};

/** Each way of an answer in a message format tells the model the same, and tells it all that the plain body says. */
export const saysTheSameInFormat = (url: string, format: Format) =>
  fc.asyncProperty(AnyCalls, async (calls) => {
    const said = await askPlainly(url, calls);
    const { results, messages, isTold } = await askInFormat(url, format, calls, said);
    expect(results).toEqual(results.map(() => results[0]));
    expect(messages).toEqual(messages.map(() => messages[0]));
    expect(isTold).toBe(true);
  });
