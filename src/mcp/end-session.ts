import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { EndedSessions } from '../executor/ended-sessions.ts';
import { ignoreBodies } from '../routes/ignore-bodies.ts';
import { ProblemError } from '../routes/problem-handler.ts';
import { type GateOptions, type RequestCaller, tellRefused } from '../routes/request-gate.ts';
import { createStoreProblem } from '../routes/sessions.ts';
import { sessionIdOf } from './session-header.ts';

export type EndSessionOptions = Pick<GateOptions, 'onRefused'> & {
  readonly callerOf: (request: FastifyRequest) => RequestCaller;
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  readonly endSession: (sessionKey: string) => Promise<void>;
  readonly endedSessions: Pick<EndedSessions, 'add'>;
  /** Whether ending it rejected because the store cannot answer now. */
  readonly isUnavailable: (error: unknown) => boolean;
};

/** DELETE with `Mcp-Session-Id` ends that session as DELETE /sessions/{id} does, and for good, for keys that may do that. */
export const addEndSessionRoute = (app: FastifyInstance, path: string, options: EndSessionOptions): void => {
  const addRoute: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete(path, async (request, reply) => {
      await endSession(options.toSessionKey(tenantOf(request, options), namedSession(request)), options);
      return reply.code(204).send();
    });
  };
  void app.register(addRoute);
};

const namedSession = (request: FastifyRequest): string => {
  const sessionId = sessionIdOf(request);
  if (sessionId !== null) return sessionId;
  throw new ProblemError(400, 'invalid_session_id', 'Name the session to end by its Mcp-Session-Id.');
};

// The transport's own word for a client that may not end its session; what others did with other tools would be lost.
const tenantOf = (request: FastifyRequest, options: EndSessionOptions): string => {
  const { tenant, may, tools } = options.callerOf(request);
  if (may('reset') && tools === 'all') return tenant;
  tellRefused('operation', request, options);
  throw new ProblemError(405, 'method_not_allowed', 'This key may not end sessions.', { allow: 'POST' });
};

const endSession = async (sessionKey: string, options: EndSessionOptions): Promise<void> => {
  try {
    await options.endSession(sessionKey);
    await options.endedSessions.add(sessionKey);
  } catch (error) {
    throw options.isUnavailable(error) ? createStoreProblem() : error;
  }
};
