import type { FastifyReply } from 'fastify';
import { isRecord } from '../contract/json-record.ts';
import type { RenderedResult } from '../contract/tool-result.ts';
import type { AcceptedCall, BatchListener } from '../executor/batch-request.ts';
import { toJsonString } from '../json/json-text.ts';
import type { AnsweredCalls, AnsweredListener } from './answered-calls.ts';
import { EventStream, type StreamEvent, type StreamFormat, type StreamOptions, whenClosed } from './event-stream.ts';
import { cutOffWhenOver } from './open-readings.ts';
import type { Reading } from './route-host.ts';

/** What the last event of a stream tells beside the results. */
type StreamEnd = {
  /** In the order of the calls. */
  readonly results: readonly RenderedResult[];
  readonly origin: 'run' | 'replayed';
  /** Members of the body behind these results, as JSON text that begins with a comma; made when the results are sent. */
  readonly toTail: (results: readonly RenderedResult[]) => string;
  /** Whether calls go on: then it ends when all have ended or the reader has gone. */
  readonly isPending: boolean;
};

export type BatchStream = ReturnType<typeof createBatchStream>;

/**
 * The calls of a batch as a stream: `accepted` or `snapshot`, each `result` once, `progress` and `part` between them, last `done`.
 * Sends nothing before its first event: until then the request can be refused by a status.
 */
export const createBatchStream = (
  reply: FastifyReply,
  options: {
    readonly requestId: string;
    readonly sessionId: string | null;
    readonly format: StreamFormat;
    readonly tenant: string;
    readonly reading: Reading;
    readonly streams: StreamOptions;
    readonly answered: Pick<AnsweredCalls, 'follow' | 'watchParts'>;
  },
) => {
  const { requestId, sessionId, tenant, reading } = options;
  const sent = new Set<number>();
  let stream: EventStream | null = null;
  let events = 0;
  const send = (event: StreamEvent, dataJson: string): void => {
    events += 1;
    stream?.send(event, String(events), dataJson);
  };
  const parts = options.answered.watchParts(tenant, (index, valueJson) => sendPart(index, valueJson));
  // Its calls may go on for hours after it.
  void whenClosed(reply).then(parts.stop);
  cutOffWhenOver(reading, reply);
  const names = `"request_id":${toJsonString(requestId)},"session_id":${sessionId === null ? 'null' : toJsonString(sessionId)}`;
  const open = (first: 'accepted' | 'snapshot', dataJson: string, headers: readonly string[] = []): void => {
    stream = new EventStream(reply, options.format, options.streams, headers);
    send(first, dataJson);
  };
  const accept = (calls: readonly AcceptedCall[], headers?: readonly string[]): void => {
    reading.shows(calls.map(({ name }) => name));
    open('accepted', `{${names},"calls":[${calls.map(toCallJson).join(',')}]}`, headers);
  };
  const sendPart = (index: number, valueJson: string): void => {
    if (!sent.has(index)) send('part', `{"index":${index},"value":${valueJson}}`);
  };
  const sendProgress: AnsweredListener['progress'] = (index, progress) =>
    send('progress', JSON.stringify({ index, progress }));
  const sendResult = (index: number, { json, handle }: RenderedResult): void => {
    // A call that goes on has no result yet.
    if (stream === null || sent.has(index) || handle !== null) return;
    sent.add(index);
    send('result', json);
  };
  const sendResults = (results: readonly RenderedResult[]): void => {
    for (const [index, result] of results.entries()) sendResult(index, result);
  };
  const followToEnd = (results: readonly RenderedResult[]): Promise<readonly RenderedResult[]> => {
    sendResults(results);
    parts.watchResults(results);
    const listener = { result: sendResult, progress: sendProgress };
    return options.answered.follow(tenant, results, listener, whenClosed(reply));
  };
  const sendEnd = async ({ results, origin, toTail, isPending }: StreamEnd): Promise<void> => {
    if (stream === null) accept(results.map(readCall), origin === 'replayed' ? REPLAYED : []);
    const last = isPending ? await followToEnd(results) : results;
    sendResults(last);
    const status = last.some(({ handle }) => handle !== null) ? 'pending' : 'done';
    send('done', `{${names},"status":"${status}"${toTail(last)}}`);
    stream?.close();
  };
  const listener: BatchListener = {
    accepted: (calls) => accept(calls),
    result: sendResult,
    progress: (index, { progress, total = null, message = null }) =>
      sendProgress(index, { done: progress, total, message }),
    part: sendPart,
    pending: parts.watch,
  };
  return {
    listener,
    /** Begins with a body that shows these results as they are now, so that a reader who comes back misses nothing. */
    openSnapshot: (bodyJson: string, results: readonly RenderedResult[]): void => {
      for (const [index, { handle }] of results.entries()) if (handle === null) sent.add(index);
      open('snapshot', bodyJson);
    },
    /** Sends what has not been sent yet, and ends the stream. Where that fails the connection ends without `done`. */
    finish: async (end: StreamEnd): Promise<void> => {
      try {
        await sendEnd(end);
      } catch (_broken) {
        stream?.abort();
      } finally {
        parts.stop();
      }
    },
  };
};

const REPLAYED = ['idempotent-replayed', 'true'] as const;

const toCallJson = ({ index, id, name }: AcceptedCall): string =>
  `{"index":${index},"id":${typeof id === 'string' ? toJsonString(id) : id},"name":${name === null ? 'null' : toJsonString(name)}}`;

/** What a result that is there already says of its call. */
const readCall = ({ json }: RenderedResult, index: number): AcceptedCall => {
  const read: unknown = JSON.parse(json);
  const { id, name } = isRecord(read) ? read : {};
  return {
    index,
    id: typeof id === 'string' || typeof id === 'number' ? id : null,
    name: typeof name === 'string' ? name : null,
  };
};
