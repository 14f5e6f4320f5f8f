import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { SCHEDULINGS } from '../contract/message-format.ts';
import type { RenderedResult } from '../contract/tool-result.ts';
import type { AnsweredBatch, AnsweredCalls, AnsweredListener, ResultsNow, ResultsWait } from './answered-calls.ts';
import { ignoreBodies } from './body-parsers.ts';
import type { Dialects, LateTerms } from './dialects.ts';
import { openEventStream, type StreamEvent, type StreamOptions, toStreamFormat, whenClosed } from './event-stream.ts';
import { cutOffWhenOver, noPlace, type OpenReadings } from './open-readings.ts';
import { createNotKeptProblem, createStoreProblem, ProblemError } from './problems.ts';
import { toFormat } from './read-turn.ts';
import { holdLittle } from './request-memory.ts';
import { type ResultsBody, sendReading, sendUnlessKnown, toResultsJson } from './send-answer.ts';
import { toPartJson } from './stream-batch.ts';

type KeptCaller = {
  readonly tenant: string;
  readonly tools: 'all' | 'some';
  readonly mayUse: (tool: string) => boolean;
};

export type KeptResultsOptions = {
  readonly dialects: Pick<Dialects, 'writeLateMessages'>;
  readonly callerOf: (request: FastifyRequest) => KeptCaller;
  /** An opaque key for a request id of a tenant. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  /** The results kept under such a key of the tenant; null where none are. */
  readonly findResults: (tenant: string, requestKey: string) => Promise<AnsweredBatch | null | 'unavailable'>;
  /** The same results as they are now: pending ones may have ended since. Rejects with the store. */
  readonly readAnswered: AnsweredCalls['read'];
  readonly cancelAnswered: AnsweredCalls['cancel'];
  readonly followAnswered: AnsweredCalls['follow'];
  readonly watchParts: AnsweredCalls['watchParts'];
  readonly streams: StreamOptions;
  readonly readings: OpenReadings;
  readonly toEntityTag: (body: string) => string;
};

/** What an id of a request looks like, whoever made it. */
export const REQUEST_ID = /^[A-Za-z0-9_-]{16,64}$/;

// Proxies give up after 30 to 60 s without a byte.
const LONGEST_WAIT_MS = 30_000;

const Query = z.object({
  wait_ms: z.coerce.number().min(0).default(0),
  until: z.enum(['all', 'any']).default('all'),
  force: z.enum(['true', 'false']).default('false'),
  format: z.unknown().optional(),
  raw: z.enum(['true', 'false']).default('false'),
  scheduling: z.enum(SCHEDULINGS).nullable().default(null),
});

type OfRequest = { Params: { request_id: string } };
type OfCall = { Params: { request_id: string; index: string } };

/**
 * GET /tool-calls/{request_id}: the results of a batch that had an Idempotency-Key or preferred an asynchronous answer, as they
 * are now; waits for those that are pending. DELETE there, and at …/calls/{index}, ends pending calls.
 */
export const addKeptResultsRoutes = (app: FastifyInstance, options: KeptResultsOptions): void => {
  const { writeLateMessages } = options.dialects;
  const find = async (request: FastifyRequest, requestId: string): Promise<AnsweredBatch> => {
    if (!REQUEST_ID.test(requestId)) throw createNotKeptProblem();
    const { tenant, tools, mayUse } = options.callerOf(request);
    const found = await options.findResults(tenant, options.toRequestKey(tenant, requestId));
    if (found === 'unavailable') throw createStoreProblem();
    // Another key of the tenant may have sent the batch: who may not see all of it is told what an unknown id is told.
    if (found === null || !(tools === 'all' || found.results.every((result) => maySee(result, mayUse))))
      throw createNotKeptProblem();
    return found;
  };
  const read = (request: FastifyRequest, found: AnsweredBatch, wait: ResultsWait | null): Promise<ResultsNow> =>
    askStore(options.readAnswered(options.callerOf(request).tenant, found, wait));
  app.get<OfRequest>('/tool-calls/:request_id', async (request, reply) => {
    const { request_id: requestId } = request.params;
    const query = readQuery(request.query);
    const terms = toLateTerms(query);
    const { wait_ms: asked, until } = query;
    const found = await find(request, requestId);
    const waitMs = Math.min(asked, LONGEST_WAIT_MS);
    // Where there is no place to wait, the caller learns at once how its calls stand: it loses nothing.
    const reading = waitMs > 0 ? options.readings.open(reply) : null;
    reading?.shows(found.results.map(toToolName));
    if (reading !== null) holdLittle(reply);
    const now = await read(request, found, reading === null ? null : { waitMs, until, over: reading.over });
    reading?.requireRight();
    if (now.status === 'pending') void reply.code(202).header('retry-after', RETRY_AFTER_SECONDS);
    const body = toTellingBody(requestId, now, terms === null ? null : { terms, raw: query.raw, writeLateMessages });
    return sendUnlessKnown(request, reply, options.toEntityTag(body), () => sendReading(reply, body));
  });
  app.get<OfRequest>('/tool-calls/:request_id/events', async (request, reply) => {
    const { request_id: requestId } = request.params;
    const found = await find(request, requestId);
    if (request.method === 'HEAD') return reply.type('text/event-stream').send('');
    const reading = options.readings.open(reply);
    if (reading === null) throw noPlace();
    reading.shows(found.results.map(toToolName));
    const now = await read(request, found, null);
    reading.requireRight();
    cutOffWhenOver(reading, reply);
    await sendEvents(now, { found: found.results, requestId, reply }, options);
    return reply;
  });
  const cancel = async (request: FastifyRequest, reply: FastifyReply, requestId: string, only: number | null) => {
    const how = readQuery(request.query).force === 'true' ? 'forced' : 'asked';
    const found = await find(request, requestId);
    const chosen = only === null ? found.results : found.results.slice(only, only + 1);
    if (only !== null && chosen.length === 0) throw createNotKeptProblem();
    await askStore(options.cancelAnswered(options.callerOf(request).tenant, chosen, how));
    const now = await read(request, found, null);
    if (now.status === 'pending') void reply.code(202);
    return sendReading(reply, toBody(requestId, now));
  };
  const addCancelRoutes: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete<OfRequest>('/tool-calls/:request_id', async (request, reply) =>
      cancel(request, reply, request.params.request_id, null),
    );
    routes.delete<OfCall>('/tool-calls/:request_id/calls/:index', async (request, reply) =>
      cancel(request, reply, request.params.request_id, toIndex(request.params.index)),
    );
  };
  void app.register(addCancelRoutes);
};

type Watched = { readonly found: readonly RenderedResult[]; readonly requestId: string; readonly reply: FastifyReply };

/**
 * First `snapshot`, the body as it is now, so that whoever comes back has no gap; then what happens to calls that go on, and
 * last `done`.
 */
const sendEvents = async (
  now: ResultsNow,
  { found, requestId, reply }: Watched,
  { streams, followAnswered, watchParts, callerOf }: KeptResultsOptions,
): Promise<void> => {
  const { tenant } = callerOf(reply.request);
  const stream = openEventStream(reply, toStreamFormat(reply.request.headers.accept) ?? 'sse', streams);
  let events = 0;
  const send = (event: StreamEvent, dataJson: string): void => {
    events += 1;
    stream.send(event, String(events), dataJson);
  };
  send('snapshot', toBody(requestId, now));
  holdLittle(reply);
  if (now.status === 'pending') {
    const told = new Set<number>(indexesOfEnded(now.results));
    const result = (index: number, { json }: RenderedResult): void => {
      if (!told.has(index)) send('result', json);
      told.add(index);
    };
    const progress: AnsweredListener['progress'] = (index, value) =>
      send('progress', JSON.stringify({ index, progress: value }));
    const part = (index: number, valueJson: string): void => {
      if (!told.has(index)) send('part', toPartJson(index, valueJson));
    };
    const parts = watchParts(tenant, part);
    parts.watchResults(now.results);
    try {
      await followAnswered(tenant, found, { result, progress }, whenClosed(reply));
    } catch (_away) {
      stream.abort();
      return;
    } finally {
      parts.stop();
    }
  }
  send('done', `{"request_id":"${requestId}","session_id":null,"status":"done"}`);
  stream.close();
};

const indexesOfEnded = (results: readonly RenderedResult[]): readonly number[] =>
  results.flatMap(({ handle }, index) => (handle === null ? [index] : []));

// The session's id is kept nowhere, and so cannot be given back.
const toBody = (requestId: string, { results, status }: ResultsNow, turn?: ResultsBody['turn']): string =>
  toResultsJson({ requestId, sessionId: null, results, status, ...(turn === undefined ? {} : { turn }) });

type Telling = Pick<Dialects, 'writeLateMessages'> & { readonly terms: LateTerms; readonly raw: 'true' | 'false' };

/** The results as they are now; for a conversation with the messages that tell it of late ones, or these alone. */
const toTellingBody = (requestId: string, now: ResultsNow, telling: Telling | null): string => {
  if (telling === null) return toBody(requestId, now);
  const { terms, raw, writeLateMessages } = telling;
  const messages = writeLateMessages(now.late, terms);
  return raw === 'true' ? JSON.stringify(messages) : toBody(requestId, now, { format: terms.format, messages });
};

/** How the late results are told to a model; null where they are not. */
const toLateTerms = ({ format: named, scheduling }: z.infer<typeof Query>): LateTerms | null => {
  const format = toFormat(named);
  if (scheduling !== null && format !== 'gemini')
    throw new ProblemError(400, 'invalid_query', 'scheduling: only with format=gemini, for the Live API');
  return format === null || format === 'native' ? null : { format, scheduling };
};

const RETRY_AFTER_SECONDS = '2';

const askStore = async <Answer>(asking: Promise<Answer>): Promise<Answer> => {
  try {
    return await asking;
  } catch (_away) {
    throw createStoreProblem();
  }
};

const toIndex = (index: string): number => {
  if (/^\d{1,4}$/.test(index)) return Number(index);
  throw new ProblemError(400, 'invalid_index', 'The index of a call is its place in the batch, from 0.');
};

const readQuery = (query: unknown): z.infer<typeof Query> => {
  const parsed = Query.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ProblemError(
    400,
    'invalid_query',
    `${issue?.path.join('.') ?? 'query'}: ${issue?.message ?? 'is not valid'}`,
  );
};

const Named = z.object({
  name: z.string().nullable(),
  error: z.object({ code: z.string() }).nullable(),
});

const toToolName = ({ json }: RenderedResult): string | null => Named.safeParse(JSON.parse(json)).data?.name ?? null;

/**
 * What says nothing of a tool beyond its name may be seen by all; what cannot be read, by nobody who may not see all; nor
 * may what a wrong name was told, for it lists the tools of the key that sent it.
 */
const maySee = ({ json }: RenderedResult, mayUse: (tool: string) => boolean): boolean => {
  const { data } = Named.safeParse(JSON.parse(json));
  if (data === undefined || data.error?.code === 'unknown_tool') return false;
  return data.name === null || data.error?.code === 'not_authorized' || mayUse(data.name);
};
