import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemError } from './problem-handler.ts';
import { sendResults } from './results-body.ts';
import { GET_RESULTS_SCHEMA } from './session-schemas.ts';
import { createStoreProblem } from './sessions.ts';

export type KeptResultsOptions = {
  readonly callerOf: (request: FastifyRequest) => { readonly tenant: string };
  /** An opaque key for a request id of a tenant. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  /** The results kept under it, as JSON texts; null where none are. */
  readonly findResults: (requestKey: string) => Promise<readonly string[] | null | 'unavailable'>;
};

/** What an id of a request looks like, whoever made it. */
export const REQUEST_ID = /^[A-Za-z0-9_-]{16,64}$/;

/** GET /tool-calls/{request_id}: the answer to a batch that came with an Idempotency-Key, for who has lost it. */
export const addKeptResultsRoute = (app: FastifyInstance, options: KeptResultsOptions): void => {
  const find = async (request: FastifyRequest, requestId: string) =>
    REQUEST_ID.test(requestId)
      ? options.findResults(options.toRequestKey(options.callerOf(request).tenant, requestId))
      : null;
  app.get<{ Params: { request_id: string } }>(
    '/tool-calls/:request_id',
    { schema: GET_RESULTS_SCHEMA },
    async (request, reply) => {
      const { request_id: requestId } = request.params;
      const results = await find(request, requestId);
      if (results === 'unavailable') throw createStoreProblem();
      if (results === null) throw new ProblemError(404, 'result_not_kept', NOT_KEPT);
      // The session's id is kept nowhere, and so cannot be given back.
      return sendResults(reply, { requestId, sessionId: null, results });
    },
  );
};

const NOT_KEPT =
  'No results are kept under this request id: its batch came without an Idempotency-Key, is still running, or is too long ago.';
