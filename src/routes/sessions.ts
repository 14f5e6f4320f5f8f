import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { SessionId, type SessionView } from '../contract/session.ts';
import { ignoreBodies } from './body-parsers.ts';
import { createStoreProblem, operationNotAllowed, ProblemError } from './problems.ts';
import { callerOf, type GateOptions, tellRefused } from './request-gate.ts';
import { sendReading } from './send-answer.ts';

export type SessionsOptions = Pick<GateOptions, 'onRefused'> & {
  /** An opaque key for a tenant's session. */
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  /** The hashes of the latest sessions of a tenant that begin so; two where it is not one. Rejects with the store. */
  readonly findSessions: (tenant: string, prefix: string) => Promise<readonly string[]>;
  /** What of it whoever asks may see. */
  readonly readSession: (sessionKey: string, mayUse: (tool: string) => boolean) => Promise<SessionView>;
  readonly endSession: (sessionKey: string) => Promise<void>;
  /** Makes one tool fresh, or all (null). */
  readonly resetBudgets: (sessionKey: string, tool: string | null) => Promise<void>;
  /** Whether one of the three rejected because the store cannot answer now. */
  readonly isUnavailable: (error: unknown) => boolean;
};

type OfSession<More = unknown> = { Params: { id: string } & More };

/**
 * GET and DELETE /sessions/{id}, DELETE /sessions/{id}/budgets and /budgets/{tool}: for the caller's tenant alone. `~` and 8 to 64 hex
 * digits name a session by the SHA-256 of its id, whatever sessions are called so themselves.
 */
export const addSessionsRoutes = (app: FastifyInstance, options: SessionsOptions): void => {
  const { readSession, endSession, resetBudgets } = options;
  const keyOf = async (request: FastifyRequest<OfSession>): Promise<string> => {
    const { tenant } = callerOf(request);
    const id = checkSessionId(request.params.id);
    const [, digits] = SESSION_HASH.exec(id) ?? [];
    if (digits === undefined) return options.toSessionKey(tenant, id);
    const hash = digits.toLowerCase();
    return `${tenant}:${hash.length === HASH_DIGITS ? hash : await findHash(tenant, hash)}`;
  };
  const findHash = async (tenant: string, prefix: string): Promise<string> => {
    const [hash, other] = await askStore(options.findSessions(tenant, prefix));
    if (hash !== undefined && other === undefined) return hash;
    throw createSessionHashProblem(hash === undefined ? 0 : 2);
  };
  const requireAllTools = (request: FastifyRequest<OfSession>): FastifyRequest<OfSession> => {
    if (callerOf(request).tools === 'all') return request;
    tellRefused('operation', request, options);
    throw operationNotAllowed(SOME_TOOLS);
  };
  const requireTool = (request: FastifyRequest<OfSession<{ tool: string }>>): string => {
    const tool = checkToolName(request.params.tool);
    if (callerOf(request).mayUse(tool)) return tool;
    tellRefused('operation', request, options);
    throw operationNotAllowed('This key may not use that tool and may not reset its budget.');
  };
  const ask = <Answer>(asking: Promise<Answer>): Promise<Answer> => askStore(asking, options);
  const done = async (asking: Promise<void>, reply: FastifyReply): Promise<FastifyReply> => {
    await ask(asking);
    return reply.code(204).send();
  };
  const addRoutes: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.get<OfSession>('/sessions/:id', async (request, reply) => {
      const view = await ask(readSession(await keyOf(request), callerOf(request).mayUse));
      return sendReading(reply, JSON.stringify(view));
    });
    routes.delete<OfSession>('/sessions/:id', async (request, reply) =>
      done(endSession(await keyOf(requireAllTools(request))), reply),
    );
    routes.delete<OfSession>('/sessions/:id/budgets', async (request, reply) =>
      done(resetBudgets(await keyOf(requireAllTools(request)), null), reply),
    );
    routes.delete<OfSession<{ tool: string }>>('/sessions/:id/budgets/:tool', async (request, reply) =>
      done(resetBudgets(await keyOf(request), requireTool(request)), reply),
    );
  };
  void app.register(addRoutes);
};

const ALWAYS_AWAY: Pick<SessionsOptions, 'isUnavailable'> = { isUnavailable: () => true };

/** What the store answers, or a problem where it cannot answer now: whatever it rejects with, unless `isUnavailable` tells. */
export const askStore = async <Answer>(
  asking: Promise<Answer>,
  { isUnavailable }: Pick<SessionsOptions, 'isUnavailable'> = ALWAYS_AWAY,
): Promise<Answer> => {
  try {
    return await asking;
  } catch (error) {
    throw isUnavailable(error) ? createStoreProblem() : error;
  }
};

// What others did with other tools would be lost with it.
const SOME_TOOLS =
  'This key is limited to some tools: reset their budgets one by one at /sessions/{id}/budgets/{tool}.';

const SESSION_HASH = /^~([0-9a-f]{8,64})$/i;
const HASH_DIGITS = 64;

/** What the beginning of a hash is answered that is of no listed session, or of several. */
export const createSessionHashProblem = (sessions: 0 | 2): ProblemError =>
  sessions === 0
    ? new ProblemError(404, 'session_not_listed', NOT_LISTED)
    : new ProblemError(409, 'session_ambiguous', AMBIGUOUS);

const NOT_LISTED =
  'None of the latest sessions has a hash that begins so. Send all 64 hex digits of the SHA-256 of its id.';
const AMBIGUOUS = 'Several of the latest sessions have a hash that begins so. Send more digits.';

const checkSessionId = (id: string): string => {
  if (SessionId.safeParse(id).success) return id;
  throw createSessionIdProblem();
};

/** What a session id that cannot be one is answered. */
export const createSessionIdProblem = (): ProblemError =>
  new ProblemError(400, 'invalid_session_id', 'A session id has 1 to 256 characters, percent-encoded in the path.');

// What no tool can be called is a mistake in the path, and nothing that a store should look for.
const checkToolName = (name: string): string => {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(name)) return name;
  throw createToolNameProblem();
};

/** What a name that no tool can have is answered. */
export const createToolNameProblem = (): ProblemError =>
  new ProblemError(400, 'invalid_tool_name', 'A tool name has 1 to 64 of the characters A-Z a-z 0-9 _ . -');
