import type { FastifyRequest } from 'fastify';
import { ProblemError } from '../routes/problem-handler.ts';

/** The session that a request names by `Mcp-Session-Id`; null where it names none. Throws where it can be no session. */
export const sessionIdOf = ({ headers }: FastifyRequest): string | null => {
  const given = headers['mcp-session-id'];
  if (given === undefined) return null;
  // The transport allows visible ASCII; two such headers come as one with a blank in it.
  if (typeof given === 'string' && /^[\x21-\x7e]{1,256}$/.test(given)) return given;
  throw new ProblemError(400, 'invalid_session_id', 'Mcp-Session-Id must be 1 to 256 visible ASCII characters.');
};
