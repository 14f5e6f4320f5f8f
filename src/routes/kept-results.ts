import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { ProblemError } from './problem-handler.ts';
import { sendKeptResults } from './results-body.ts';
import { createStoreProblem } from './sessions.ts';

export type KeptResultsOptions = {
  readonly callerOf: (request: FastifyRequest) => {
    readonly tenant: string;
    readonly tools: 'all' | 'some';
    readonly mayUse: (tool: string) => boolean;
  };
  /** An opaque key for a request id of a tenant. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  /** The results kept under it, as JSON texts; null where none are. */
  readonly findResults: (requestKey: string) => Promise<readonly string[] | null | 'unavailable'>;
};

/** What an id of a request looks like, whoever made it. */
export const REQUEST_ID = /^[A-Za-z0-9_-]{16,64}$/;

/** GET /tool-calls/{request_id}: the answer to a batch that came with an Idempotency-Key, for who has lost it. */
export const addKeptResultsRoute = (app: FastifyInstance, options: KeptResultsOptions): void => {
  const find = async (request: FastifyRequest, requestId: string) => {
    if (!REQUEST_ID.test(requestId)) return null;
    const { tenant, tools, mayUse } = options.callerOf(request);
    const results = await options.findResults(options.toRequestKey(tenant, requestId));
    // Another key of the tenant may have sent the batch: who may not see all of it is told what an unknown id is told.
    return tools === 'all' || !Array.isArray(results) || results.every((result) => maySee(result, mayUse))
      ? results
      : null;
  };
  app.get<{ Params: { request_id: string } }>(
    '/tool-calls/:request_id',
    { config: { operation: 'getToolCallResults' } },
    async (request, reply) => {
      const { request_id: requestId } = request.params;
      const results = await find(request, requestId);
      if (results === 'unavailable') throw createStoreProblem();
      if (results === null) throw createNotKeptProblem();
      // The session's id is kept nowhere, and so cannot be given back.
      return sendKeptResults(reply, { requestId, sessionId: null, results });
    },
  );
};

const Named = z.object({
  name: z.string().nullable(),
  error: z.object({ code: z.string() }).nullable(),
});

/**
 * What says nothing of a tool beyond its name may be seen by all; what cannot be read, by nobody who may not see all; nor
 * may what a wrong name was told, for it lists the tools of the key that sent it.
 */
const maySee = (result: string, mayUse: (tool: string) => boolean): boolean => {
  const { data } = Named.safeParse(JSON.parse(result));
  if (data === undefined || data.error?.code === 'unknown_tool') return false;
  return data.name === null || data.error?.code === 'not_authorized' || mayUse(data.name);
};

/** What an id under which nothing is kept is answered. */
export const createNotKeptProblem = (): ProblemError => new ProblemError(404, 'result_not_kept', NOT_KEPT);

const NOT_KEPT =
  'No results are kept under this request id: its batch came without an Idempotency-Key, is still running, is too long ago, or its results were dropped because the store needed the room.';
