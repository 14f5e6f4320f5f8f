import type { FastifyReply } from 'fastify';
import { isRecord } from '../contract/json-record.ts';
import type { RenderedResult } from '../contract/tool-result.ts';
import type { AcceptedCall, BatchListener } from '../executor/batch-request.ts';
import { toJsonString } from '../json/json-text.ts';
import type { AnsweredCalls, AnsweredListener } from './answered-calls.ts';
import {
  type EventStream,
  openEventStream,
  type StreamEvent,
  type StreamFormat,
  type StreamOptions,
  whenClosed,
} from './event-stream.ts';
import { cutOffWhenOver } from './open-readings.ts';
import type { Reading } from './route-host.ts';

/** What the last event of a stream tells beside the results. */
type StreamEnd = {
  /** In the order of the calls. */
  readonly results: readonly RenderedResult[];
  readonly origin: 'run' | 'replayed';
  /** Members of the body behind these results, as JSON text that begins with a comma; made when the results are sent. */
  readonly toTail: (results: readonly RenderedResult[]) => string;
  /** Tells of the calls that go on, until all have ended or the reader has gone; null: none does. Gives all results then. */
  readonly follow: ((listener: AnsweredListener) => Promise<readonly RenderedResult[]>) | null;
};

/** The answer to a batch as a stream: `accepted`, each `result` once, `progress` and `part` between them, last `done`. */
export type BatchStream = {
  readonly listener: BatchListener;
  /** Sends what has not been sent yet, and ends the stream. Where that fails the connection ends without `done`. */
  readonly finish: (end: StreamEnd) => Promise<void>;
};

type BatchStreamOptions = StreamOptions & {
  readonly format: StreamFormat;
  readonly tenant: string;
  readonly watchParts: AnsweredCalls['watchParts'];
  readonly reading: Reading;
};

/** Sends nothing before the batch is accepted: until then it can be refused by a status. */
export const createBatchStream = (
  reply: FastifyReply,
  sessionId: string | null,
  options: BatchStreamOptions,
): BatchStream => {
  const sent = new Set<number>();
  let stream: EventStream | null = null;
  let events = 0;
  const send = (event: StreamEvent, dataJson: string): void => {
    events += 1;
    stream?.send(event, String(events), dataJson);
  };
  const tellPart = (index: number, valueJson: string): void => {
    if (!sent.has(index)) send('part', toPartJson(index, valueJson));
  };
  const parts = options.watchParts(options.tenant, tellPart);
  // Its calls may go on for hours after it.
  void whenClosed(reply).then(parts.stop);
  cutOffWhenOver(options.reading, reply);
  const names = `"request_id":${toJsonString(reply.request.id)},"session_id":${sessionId === null ? 'null' : toJsonString(sessionId)}`;
  const open = (calls: readonly AcceptedCall[], headers: readonly string[]): void => {
    stream = openEventStream(reply, options.format, { ...options, headers });
    options.reading.shows(calls.map(({ name }) => name));
    send('accepted', `{${names},"calls":[${calls.map(toCallJson).join(',')}]}`);
  };
  const tellResult = (index: number, { json, handle }: RenderedResult): void => {
    // A call that goes on has no result yet.
    if (stream === null || sent.has(index) || handle !== null) return;
    sent.add(index);
    send('result', json);
  };
  const tellAll = (results: readonly RenderedResult[]): void => {
    for (const [index, result] of results.entries()) tellResult(index, result);
  };
  const followToEnd = (results: readonly RenderedResult[], follow: NonNullable<StreamEnd['follow']>) => {
    tellAll(results);
    parts.watchResults(results);
    return follow({ result: tellResult, progress: tellProgress });
  };
  const finish = async ({ results, toTail, follow }: StreamEnd): Promise<void> => {
    const last = follow === null ? results : await followToEnd(results, follow);
    tellAll(last);
    const status = last.some(({ handle }) => handle !== null) ? 'pending' : 'done';
    send('done', `{${names},"status":"${status}"${toTail(last)}}`);
    stream?.close();
  };
  const tellProgress: AnsweredListener['progress'] = (index, progress) =>
    send('progress', JSON.stringify({ index, progress }));
  return {
    listener: {
      accepted: (calls) => open(calls, []),
      result: tellResult,
      progress: (index, { progress, total = null, message = null }) =>
        tellProgress(index, { done: progress, total, message }),
      part: tellPart,
      pending: parts.watch,
    },
    finish: async (end) => {
      if (stream === null) open(end.results.map(readCall), end.origin === 'replayed' ? REPLAYED : []);
      let isWhole = false;
      try {
        await finish(end);
        isWhole = true;
      } finally {
        parts.stop();
        if (!isWhole) stream?.abort();
      }
    },
  };
};

/** The data of a `part`, from a value as JSON text. */
export const toPartJson = (index: number, valueJson: string): string => `{"index":${index},"value":${valueJson}}`;

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
