import type { FastifyInstance } from 'fastify';
import { refuseOtherMethods } from '../routes/problem-handler.ts';
import type { AnswerMcpOptions } from './create-answer-mcp.ts';
import { addEndSessionRoute, type EndSessionOptions } from './end-session.ts';
import { keepLoaded } from './keep-loaded.ts';

export type McpRouteOptions = AnswerMcpOptions & EndSessionOptions;

const PATH = '/mcp';

/**
 * The Model Context Protocol over Streamable HTTP, all revisions that the SDK knows. Each POST stands alone: a session
 * is what the executor's store knows of its id, so that any replica answers any request.
 */
export const addMcpRoute = (app: FastifyInstance, options: McpRouteOptions): void => {
  // With the first request: the SDK is 10 MB and 50 ms that a service without MCP clients need not pay.
  const load = keepLoaded(async () => (await import('./create-answer-mcp.ts')).createAnswerMcp(options));
  app.post(PATH, async (request, reply) => {
    const answer = await load();
    return answer(request, reply);
  });
  addEndSessionRoute(app, PATH, options);
  refuseOtherMethods(app, PATH, ['POST', 'DELETE']);
};
