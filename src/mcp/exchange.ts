import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerMemory, BatchRequest } from '../executor/batch-request.ts';
import { type AnswerHold, toAnswerMemory } from '../routes/answer-hold.ts';
import { callerKeyOf, type RequestCaller } from '../routes/request-gate.ts';
import { CURRENT_REVISION } from './read-plain-call.ts';
import { sessionIdOf } from './session-header.ts';

/** One request of a client to the door, after the gate, and what the calls in it have in common. */
export type Exchange = {
  readonly requestId: string;
  readonly tenant: string;
  readonly key: string | null;
  /** Between whom the slots of the service are shared. */
  readonly caller: string;
  /** Who it is, for tools; null while anonymous. */
  readonly callerId: string | null;
  readonly mayUse: (tool: string) => boolean;
  /** What its `Mcp-Session-Id` says; null without one. */
  readonly sessionId: string | null;
  /** The session in which ids of requests are unique; null without one, and in 2026-07-28, where agents may share the header. */
  readonly idSession: string | null;
  /** Whether the revision that it names has links to resources. */
  readonly links: 'shown' | 'told';
  /** The text of the body. */
  readonly source: string;
  /** What the request takes of the memory for answers. */
  readonly hold: AnswerHold | null;
  readonly memory: AnswerMemory | null;
  /** What it is answered by. */
  readonly answer: ServerResponse;
  /** `session` is the opaque key of the session a call belongs to. */
  readonly toTrace: (session: string | null) => Pick<BatchRequest, 'trace' | 'traceId'>;
};

/** Opens an exchange. Throws a problem where its `Mcp-Session-Id` can be no session. */
export const openExchange = (
  { request, raw }: FastifyReply,
  source: string,
  callerOf: (request: FastifyRequest) => RequestCaller,
): Exchange => {
  const { tenant, key, id, mayUse } = callerOf(request);
  const { trace } = request;
  const sessionId = sessionIdOf(request);
  const revision = request.headers['mcp-protocol-version'];
  return {
    requestId: request.id,
    tenant,
    key,
    caller: callerKeyOf(request),
    callerId: id,
    mayUse,
    sessionId,
    idSession: revision === CURRENT_REVISION ? null : sessionId,
    links: WITH_LINKS.has(revision) ? 'shown' : 'told',
    source,
    hold: request.hold,
    memory: toAnswerMemory(request, 'messages'),
    answer: raw,
    toTrace: (session) => (trace === null ? NO_TRACE : { traceId: trace.traceId, trace: trace.ofBatch({ session }) }),
  };
};

// Earlier ones do not name themselves in a header, and their clients refuse a block that they do not know.
const WITH_LINKS: ReadonlySet<unknown> = new Set(['2025-06-18', '2025-11-25', '2026-07-28']);
const NO_TRACE = { trace: null, traceId: null } as const;
