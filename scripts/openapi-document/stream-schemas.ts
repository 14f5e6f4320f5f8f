import * as z from 'zod';
import { MESSAGE_FORMATS } from '../../src/contract/message-format.ts';
import { ToolCallsResponse, ToolResult } from '../../src/contract/tool-result.ts';
import { REQUEST_ID, toSchema } from './answer-schemas.ts';
import { readExample } from './call-examples.ts';

// For the document only: how an answer looks that is sent event by event.

const Index = z.int().nonnegative().describe('The call, as `index` of its result.');
const { request_id, session_id, warnings } = ToolCallsResponse.shape;
const id = z.string().describe('Rises within a stream.');

const AcceptedEvent = z
  .object({
    event: z.literal('accepted'),
    id,
    data: z.object({
      request_id,
      session_id,
      calls: z.array(
        z.object({ index: Index, id: z.union([z.string(), z.number(), z.null()]), name: z.string().nullable() }),
      ),
    }),
  })
  .meta({ id: 'AcceptedEvent', description: 'The first event: the batch runs, and each of its calls gets a result.' });

const ResultEvent = z
  .object({ event: z.literal('result'), id, data: ToolResult })
  .meta({ id: 'ResultEvent', description: 'The result of a call, exactly as in the body. Exactly one per call.' });

const ProgressEvent = z
  .object({
    event: z.literal('progress'),
    id,
    data: z.object({
      index: Index,
      progress: z.object({ done: z.number(), total: z.number().nullable(), message: z.string().nullable() }),
    }),
  })
  .meta({ id: 'ProgressEvent', description: 'How far a call is. Left out where the client reads too slowly.' });

const PartEvent = z
  .object({ event: z.literal('part'), id, data: z.object({ index: Index, value: z.unknown() }) })
  .meta({
    id: 'PartEvent',
    description:
      'What a tool shows to people before its result. No part of the result. Left out where the client reads too slowly.',
  });

const SnapshotEvent = z.object({ event: z.literal('snapshot'), id, data: ToolCallsResponse }).meta({
  id: 'SnapshotEvent',
  description: 'The body as it is now: the first event for a client that follows a batch later.',
});

const DoneEvent = z
  .object({
    event: z.literal('done'),
    id,
    data: z.object({
      request_id,
      session_id,
      status: z.enum(['pending', 'done']).describe('`pending` only if the stream ends before its calls do.'),
      format: z.enum(MESSAGE_FORMATS).exclude(['native']).optional(),
      messages: z.unknown().optional().describe('As in the body; with `raw` what would be the whole body.'),
      warnings,
    }),
  })
  .meta({ id: 'DoneEvent', description: 'The last event: what the body contains beside its results.' });

const StreamEvent = z
  .discriminatedUnion('event', [AcceptedEvent, ResultEvent, ProgressEvent, PartEvent, SnapshotEvent, DoneEvent])
  .meta({ id: 'StreamEvent' });

const Heartbeat = z
  .object({ event: z.literal('heartbeat') })
  .meta({ id: 'Heartbeat', description: 'A sign of life on an idle stream, to be skipped. In SSE it is a comment.' });

const [result] = z.object({ results: z.array(z.unknown()) }).parse(readExample('success')).results;

const schema = toSchema(StreamEvent, 'output');
const example = { event: 'result', id: '2', data: result };
const done = { event: 'done', id: '3', data: { request_id: REQUEST_ID, session_id: 'agent_1', status: 'done' } };

/** The two forms of a stream, by media type, as the document shows them beside JSON. */
export const STREAM_CONTENT = {
  'text/event-stream': {
    schema,
    examples: {
      result: { summary: 'The data of `event: result`, with `event` and `id` of the same event', value: example },
      done: { summary: 'The last event', value: done },
    },
  },
  'application/x-ndjson': {
    schema: toSchema(z.union([StreamEvent, Heartbeat]), 'output'),
    examples: { result: { summary: 'One line', value: example }, done: { summary: 'The last line', value: done } },
  },
} as const;
