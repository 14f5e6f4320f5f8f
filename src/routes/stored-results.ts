import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { AllowedTools } from '../auth/callers.ts';
import { SCHEDULINGS } from '../contract/message-format.ts';
import type { RenderedResult } from '../contract/tool-result.ts';
import type { AnsweredBatch, AnsweredCalls, ResultsNow, ResultsWait } from './answered-calls.ts';
import { ignoreBodies } from './body-parsers.ts';
import type { Dialects, LateTerms } from './dialects.ts';
import { negotiateStream, type StreamOptions } from './event-stream.ts';
import { noPlace, type OpenReadings } from './open-readings.ts';
import { createNotStoredProblem, createStoreProblem, ProblemError, readQuery } from './problems.ts';
import { readFormat } from './read-message.ts';
import { callerOf } from './request-gate.ts';
import { leaseLittle } from './request-memory.ts';
import { type ResultsBody, sendReading, sendUnlessKnown, toResultsJson } from './send-answer.ts';
import { askStore } from './sessions.ts';
import { createBatchStream } from './stream-batch.ts';

export type StoredResultsOptions = {
  readonly dialects: Pick<Dialects, 'writeLateMessages'>;
  /** An opaque key for a request id of a tenant. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  /** The results kept under such a key of the tenant; null where none are. */
  readonly findResults: (tenant: string, requestKey: string) => Promise<AnsweredBatch | null | 'unavailable'>;
  /** Where the calls of these results stand now. */
  readonly answered: Omit<AnsweredCalls, 'complete'>;
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

type OfRequest<More = unknown> = { Params: { request_id: string } & More };

/**
 * GET /tool-calls/{request_id}: the results of a batch that had an Idempotency-Key or preferred an asynchronous answer, as they
 * are now; waits for those that are pending. DELETE there, and at …/calls/{index}, ends pending calls.
 */
export const addStoredResultsRoutes = (app: FastifyInstance, options: StoredResultsOptions): void => {
  const find = (request: FastifyRequest, requestId: string) => findAnswered(request, requestId, options);
  /** The results as they are now with the messages that tell a conversation of late ones, or these alone. */
  const writeConversation = (requestId: string, now: ResultsNow, terms: LateTerms, raw: 'true' | 'false'): string => {
    const messages = options.dialects.writeLateMessages(now.late, terms);
    return raw === 'true' ? JSON.stringify(messages) : writeBody(requestId, now, { format: terms.format, messages });
  };
  const read = (request: FastifyRequest, found: AnsweredBatch, wait: ResultsWait | null): Promise<ResultsNow> =>
    askStore(options.answered.read(callerOf(request).tenant, found, wait));
  app.get<OfRequest>('/tool-calls/:request_id', async (request, reply) => {
    const { request_id: requestId } = request.params;
    const query = readQuery(Query, request.query);
    const { wait_ms: requestedMs, until } = query;
    const terms = readLateTerms(query);
    const found = await find(request, requestId);
    const waitMs = Math.min(requestedMs, LONGEST_WAIT_MS);
    // Where there is no place to wait, the caller learns at once how its calls stand: it loses nothing.
    const reading = waitMs > 0 ? options.readings.open(reply) : null;
    reading?.shows(found.results.map(readToolName));
    if (reading !== null) leaseLittle(reply);
    const now = await read(request, found, reading === null ? null : { waitMs, until, over: reading.over });
    reading?.requireRight();
    if (now.status === 'pending') void reply.code(202).header('retry-after', RETRY_AFTER_SECONDS);
    const body = terms === null ? writeBody(requestId, now) : writeConversation(requestId, now, terms, query.raw);
    return sendUnlessKnown(request, reply, options.toEntityTag(body), () => sendReading(reply, body));
  });
  app.get<OfRequest>('/tool-calls/:request_id/events', async (request, reply) => {
    const { request_id: requestId } = request.params;
    const found = await find(request, requestId);
    if (request.method === 'HEAD') return reply.type('text/event-stream').send('');
    const reading = options.readings.open(reply);
    if (reading === null) throw noPlace();
    reading.shows(found.results.map(readToolName));
    const now = await read(request, found, null);
    reading.requireRight();
    const format = negotiateStream(request.headers.accept) ?? 'sse';
    const { tenant } = callerOf(request);
    // The session's id is kept nowhere, and so cannot be given back.
    const stream = createBatchStream(reply, { ...options, requestId, sessionId: null, format, tenant, reading });
    stream.openSnapshot(writeBody(requestId, now), now.results);
    leaseLittle(reply);
    await stream.finish({ ...now, origin: 'run', toTail: () => '', isPending: now.status === 'pending' });
    return reply;
  });
  const cancel = async (request: FastifyRequest, reply: FastifyReply, requestId: string, only: number | null) => {
    const how = readQuery(Query, request.query).force === 'true' ? 'forced' : 'asked';
    const found = await find(request, requestId);
    const chosen = only === null ? found.results : found.results.slice(only, only + 1);
    if (only !== null && chosen.length === 0) throw createNotStoredProblem();
    await askStore(options.answered.cancel(callerOf(request).tenant, chosen, how));
    const now = await read(request, found, null);
    if (now.status === 'pending') void reply.code(202);
    return sendReading(reply, writeBody(requestId, now));
  };
  const addCancelRoutes: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete<OfRequest>('/tool-calls/:request_id', async (request, reply) =>
      cancel(request, reply, request.params.request_id, null),
    );
    routes.delete<OfRequest<{ index: string }>>('/tool-calls/:request_id/calls/:index', async (request, reply) =>
      cancel(request, reply, request.params.request_id, parseIndex(request.params.index)),
    );
  };
  void app.register(addCancelRoutes);
};

/** Throws the problem of an unknown id also where another key of the tenant sent the batch and the caller may not see all of it. */
const findAnswered = async (
  request: FastifyRequest,
  requestId: string,
  { findResults, toRequestKey }: StoredResultsOptions,
): Promise<AnsweredBatch> => {
  if (!REQUEST_ID.test(requestId)) throw createNotStoredProblem();
  const caller = callerOf(request);
  const found = await findResults(caller.tenant, toRequestKey(caller.tenant, requestId));
  if (found === 'unavailable') throw createStoreProblem();
  if (found === null || !maySeeAll(found.results, caller)) throw createNotStoredProblem();
  return found;
};

/** Whether results are shown to a caller: all of a batch, or none. */
export const maySeeAll = (results: readonly RenderedResult[], { tools, mayUse }: AllowedTools): boolean =>
  tools === 'all' || results.every((result) => maySee(result, mayUse));

const writeBody = (
  requestId: string,
  { results, status }: ResultsNow,
  conversation?: ResultsBody['conversation'],
): string => toResultsJson({ requestId, sessionId: null, results, status, conversation });

/** How the late results are told to a model; null where they are not. */
const readLateTerms = ({ format: named, scheduling }: z.infer<typeof Query>): LateTerms | null => {
  const format = readFormat(named);
  if (scheduling !== null && format !== 'gemini')
    throw new ProblemError(400, 'invalid_query', 'scheduling: only with format=gemini, for the Live API');
  return format === null || format === 'native' ? null : { format, scheduling };
};

const RETRY_AFTER_SECONDS = '2';

export const parseIndex = (index: string): number => {
  if (/^\d{1,4}$/.test(index)) return Number(index);
  throw new ProblemError(400, 'invalid_index', 'The index of a call is its place in the batch, from 0.');
};

const Named = z.object({
  name: z.string().nullable(),
  error: z.object({ code: z.string() }).nullable(),
});

const readToolName = ({ json }: RenderedResult): string | null => Named.safeParse(JSON.parse(json)).data?.name ?? null;

/**
 * What says nothing of a tool beyond its name may be seen by all; what cannot be read, by nobody who may not see all; nor
 * may what a wrong name was told, for it lists the tools of the key that sent it.
 */
const maySee = ({ json }: RenderedResult, mayUse: (tool: string) => boolean): boolean => {
  const { data } = Named.safeParse(JSON.parse(json));
  if (data === undefined || data.error?.code === 'unknown_tool') return false;
  return data.name === null || data.error?.code === 'not_authorized' || mayUse(data.name);
};
