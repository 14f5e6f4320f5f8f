import type { FastifyReply } from 'fastify';

const JSON_TYPE = 'application/json; charset=utf-8';

export type ResultsBody = {
  readonly requestId: string;
  readonly sessionId: string | null;
  /** JSON texts. */
  readonly results: readonly string[];
};

/** Sends results as they are: each is proved to be JSON, and one BigInt must not cost the whole batch its answer. */
export const sendResults = (reply: FastifyReply, { requestId, sessionId, results }: ResultsBody): FastifyReply => {
  const head = `{"request_id":${JSON.stringify(requestId)},"session_id":${JSON.stringify(sessionId)},"results":[`;
  return reply.type(JSON_TYPE).send(`${head}${results.join(',')}]}`);
};
