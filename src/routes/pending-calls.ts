import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { CallSpec } from '../executor/pending-calls.ts';
import { ignoreBodies } from './body-parsers.ts';
import { overloaded, readQuery } from './problems.ts';
import { callerKeyOf, callerOf } from './request-gate.ts';
import { sendReading } from './send-answer.ts';
import { askStore } from './sessions.ts';

/** Which pending calls of a tenant are meant: those that fit all of it. */
export type PendingFilter = {
  readonly tenant: string;
  /** As of the request that asks: of who is anonymous, calls from the same address alone. */
  readonly caller: string;
  /** The first digits of the hash of their API key; null: of any key, and without one. */
  readonly keyHash: string | null;
  /** null: any. */
  readonly tool: string | null;
  /** The tools of whoever asks: other calls it is not told of. */
  readonly mayUse: (tool: string) => boolean;
};

/** A call that has not ended. */
export type OpenCall = {
  readonly handle: string;
  readonly record: { readonly state: 'queued' | 'running'; readonly spec: CallSpec };
};

/** The pending calls of a tenant. Both go through all pending calls, a few at a time, and reject with the store. */
export type PendingLists = {
  /** At most `most` of them, those that wait longest of those first, and how many there are. */
  readonly list: (
    filter: PendingFilter,
    most: number,
  ) => Promise<{ readonly calls: readonly OpenCall[]; readonly total: number }>;
  /**
   * Ends them where that does no harm, or in any case. Resolves as soon as none of those that had not begun can begin any
   * more; their results are written after that. `running`: those that had.
   */
  readonly cancel: (
    filter: PendingFilter,
    how: 'asked' | 'forced',
  ) => Promise<{ readonly cancelled: number; readonly running: number }>;
};

const MOST_LISTED = 1000;

// Strict: a filter that is misspelled would mean other calls.
const Filter = z.strictObject({
  key: z
    .string()
    .regex(/^[0-9a-f]{8,64}$/i, 'must be the first 8 to 64 hex digits of the SHA-256 of a key')
    .optional(),
  tool: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a tool')
    .optional(),
});
const Listing = Filter.extend({ limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(100) });
const Cancelling = Filter.extend({ force: z.enum(['true', 'false']).default('false') }).refine(
  ({ key, tool }) => key !== undefined || tool !== undefined,
  'name the calls by key= or tool=',
);

/**
 * GET and DELETE /calls/pending: the pending calls of the caller's tenant, of the tools that it may use. For operators: a
 * request id that only the owner of a leaked key has is not needed.
 */
export const addPendingCallsRoutes = (app: FastifyInstance, pendingLists: PendingLists): void => {
  // Going through all pending calls takes its time: each key has that done once at a time, and lists hold up no cancelling:
  // who lists without a pause may hold a key that leaked.
  const busy = new Set<string>();
  const once = <Answer>(request: FastifyRequest, ask: () => Promise<Answer>): Promise<Answer> => {
    const asker = `${request.method} ${callerOf(request).rateKey ?? callerKeyOf(request)}`;
    if (busy.has(asker)) throw overloaded({ reason: 'pending_lists', retryAfterSeconds: 1 });
    busy.add(asker);
    return askStore(ask()).finally(() => busy.delete(asker));
  };
  const createFilter = (request: FastifyRequest, { key, tool }: z.infer<typeof Filter>): PendingFilter => {
    const { tenant, mayUse } = callerOf(request);
    return { tenant, mayUse, caller: callerKeyOf(request), keyHash: key?.toLowerCase() ?? null, tool: tool ?? null };
  };
  app.get('/calls/pending', async (request, reply) => {
    const query = readQuery(Listing, request.query);
    const filter = createFilter(request, query);
    const { calls, total } = await once(request, () => pendingLists.list(filter, query.limit));
    return sendReading(reply, JSON.stringify({ calls: calls.map(describeCall), total }));
  });
  const addCancelRoute: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete('/calls/pending', async (request, reply) => {
      const query = readQuery(Cancelling, request.query);
      const filter = createFilter(request, query);
      const how = query.force === 'true' ? 'forced' : 'asked';
      const counts = await once(request, () => pendingLists.cancel(filter, how));
      return sendReading(reply.code(202), JSON.stringify(counts));
    });
  };
  void app.register(addCancelRoute);
};

const describeCall = ({ handle, record: { spec, state } }: OpenCall) => ({
  request_id: spec.requestId,
  index: spec.index,
  call: handle,
  tool: spec.tool,
  key: spec.key,
  key_hash: spec.keyHash?.slice(0, 8) ?? null,
  state,
  since: new Date(spec.acceptedAt).toISOString(),
  expires_at: new Date(spec.expiresAt).toISOString(),
  // The SHA-256 of the session's id: of what stands before it, the tenant is known.
  session: spec.sessionKey?.slice(spec.sessionKey.lastIndexOf(':') + 1) ?? null,
});
