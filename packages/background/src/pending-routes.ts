import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import { PENDING_STATES, type PendingState } from 'recourse-server/contract/tool-result';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import { ignoreBodies } from 'recourse-server/routes/body-parsers';
import { newestFirst, PAGING, type Place, skipTo, toCursor } from 'recourse-server/routes/list-page';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { overloaded, ProblemError, readQuery } from 'recourse-server/routes/problems';
import { callerKeyOf, callerOf } from 'recourse-server/routes/request-gate';
import { sendReading } from 'recourse-server/routes/send-answer';
import { askStore } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import { type CallRecord, handleOf, KEY_HOLDER, toCallKey } from './calls/call-kind.ts';
import type { CallRecords } from './calls/call-records.ts';
import { requireSpec } from './calls/call-seals.ts';

const MOST_LISTED = 1000;
// Each is one to three commands: the store and the event loop serve others between two parts.
const READ_AT_ONCE = 50;
const ENDED_AT_ONCE = 10;

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
type Filter = z.infer<typeof Filter>;
const Listing = Filter.extend({
  ...PAGING,
  limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(100),
  state: z.enum(PENDING_STATES).optional(),
});
const Cancelling = Filter.extend({ force: z.enum(['true', 'false']).default('false') }).refine(
  ({ key, tool }) => key !== undefined || tool !== undefined,
  'name the calls by key= or tool=',
);

type OpenCall = { readonly key: string; readonly state: PendingState; readonly spec: CallSpec };
type EndedCall = { readonly key: string } & Pick<CallSpec, 'tenant' | 'tool'>;

export type PendingRoutesOptions = {
  readonly records: Pick<CallRecords, 'live' | 'heads' | 'describe' | 'cancel'>;
  readonly laneOf: (tool: string) => string;
  readonly onFailed: (error: unknown) => void;
  /** Ends a call that no worker runs, by what its record says. */
  readonly end: (key: string, call: EndedCall) => Promise<void>;
  /** Aborted when the service stops. */
  readonly closed: AbortSignal;
};

const READ = { config: { operation: 'read' } } as const;
const HANDLE = /^c_[A-Za-z0-9_-]{1,64}$/;
const NOT_PENDING = 'No call of this handle is pending: it has ended, or never was.';

/**
 * GET and DELETE /calls/pending, GET /calls/pending/{call}: the pending calls of the caller's tenant, of the tools that it may use. For operators: a
 * request id that only the owner of a leaked key has is not needed. Both go through all pending calls, a few at a time.
 */
export const addPendingCallsRoutes = (app: FastifyInstance, options: PendingRoutesOptions): void => {
  const { records, laneOf, onFailed, end, closed } = options;
  // Going through all pending calls takes its time: each key has that done once at a time, and lists hold up no cancelling:
  // who lists without a pause may hold a key that leaked.
  const busy = new Set<string>();
  const once = <Answer>(request: FastifyRequest, ask: () => Promise<Answer>): Promise<Answer> => {
    const asker = `${request.method} ${callerOf(request).rateKey ?? callerKeyOf(request)}`;
    if (busy.has(asker)) throw overloaded({ reason: 'pending_lists', retryAfterSeconds: 1 });
    busy.add(asker);
    return askStore(ask()).finally(() => busy.delete(asker));
  };
  const endAll = async (calls: readonly EndedCall[]): Promise<void> => {
    for (const some of inParts(calls, ENDED_AT_ONCE)) {
      if (closed.aborted) return;
      await Promise.all(some.map((call) => end(call.key, call).catch(onFailed)));
    }
  };
  app.get('/calls/pending', async (request, reply) => {
    const query = readQuery(Listing, request.query);
    return sendReading(reply, JSON.stringify(await once(request, () => listPage(request, query, options))));
  });
  app.get<{ Params: { call: string } }>('/calls/pending/:call', READ, async (request, reply) => {
    const key = toCallKey(callerOf(request).tenant, request.params.call);
    // Read within askStore, which answers 503: the call may be sealed by a store key that this process does not have yet.
    const find = async () => pickFitting(request, {}, key, await records.describe(key));
    const [call] = HANDLE.test(request.params.call) ? await askStore(find()) : [];
    if (call === undefined) throw new ProblemError(404, 'call_not_pending', NOT_PENDING);
    return sendReading(reply, JSON.stringify(describeCall(call, laneOf)));
  });
  refuseOtherMethods(app, '/calls/pending/:call', ['GET', 'HEAD']);
  const addCancelRoute: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete('/calls/pending', async (request, reply) => {
      const query = readQuery(Cancelling, request.query);
      const how = query.force === 'true' ? 'forced' : 'asked';
      // Answered as soon as no call that had not begun can begin any more; their results are written after that.
      const cancel = async () => {
        const queued: EndedCall[] = [];
        let running = 0;
        for await (const found of findOpenCalls(request, query, records)) {
          const noted = await Promise.all(found.map(({ key }) => records.cancel(key, how)));
          running += noted.filter((record) => record?.state === 'running').length;
          queued.push(...found.flatMap(({ key }, place) => pickQueued(key, noted[place] ?? null)));
        }
        void endAll(queued);
        return { cancelled: queued.length, running };
      };
      return sendReading(reply.code(202), JSON.stringify(await once(request, cancel)));
    });
  };
  void app.register(addCancelRoute);
  refuseOtherMethods(app, '/calls/pending', ['GET', 'HEAD', 'DELETE']);
};

/** The keys of those that may fit the query, a part at a time. Rejects with the store. */
async function* findKeys(
  request: FastifyRequest,
  { key: keyHash }: Filter,
  { live }: Pick<CallRecords, 'live'>,
): AsyncIterable<readonly string[]> {
  const { tenant } = callerOf(request);
  const holders = keyHash === undefined ? '' : KEY_HOLDER + keyHash.toLowerCase();
  for await (const part of live.list())
    yield part
      .filter(({ key, holder }) => key.startsWith(`${tenant}:`) && holder.startsWith(holders))
      .map(({ key }) => key);
}

/** Those of them that fit the query, a few at a time. Rejects with the store. */
async function* describeCalls(
  request: FastifyRequest,
  query: Filter,
  keys: readonly string[],
  records: Pick<CallRecords, 'describe'>,
): AsyncIterable<readonly OpenCall[]> {
  for (const some of inParts(keys, READ_AT_ONCE))
    yield (
      await Promise.all(some.map(async (key) => pickFitting(request, query, key, await records.describe(key))))
    ).flat();
}

async function* findOpenCalls(
  request: FastifyRequest,
  query: Filter,
  records: Pick<CallRecords, 'live' | 'describe'>,
): AsyncIterable<readonly OpenCall[]> {
  for await (const keys of findKeys(request, query, records)) yield* describeCalls(request, query, keys, records);
}

const pickFitting = (
  request: FastifyRequest,
  { tool }: Filter,
  key: string,
  record: CallRecord | null,
): readonly OpenCall[] => {
  if (record === null || record.state === 'ended') return [];
  // Whether it fits is sealed, and to leave it out could leave a call to a key that leaked.
  const spec = requireSpec(record);
  // Of who is anonymous, calls from the same address alone.
  const isOwn = spec.caller === callerKeyOf(request) && callerOf(request).mayUse(spec.tool);
  return isOwn && (tool === undefined || spec.tool === tool) ? [{ key, state: record.state, spec }] : [];
};

type PendingPlace = Place & { readonly key: string };

/** Where those stand that may fit the query. Rejects with the store. */
const findPlaces = async (
  request: FastifyRequest,
  { state, ...filter }: Pick<z.infer<typeof Listing>, 'key' | 'state'>,
  records: PendingRoutesOptions['records'],
): Promise<readonly PendingPlace[]> => {
  const places: PendingPlace[] = [];
  for await (const keys of findKeys(request, filter, records)) {
    const heads = await records.heads(keys);
    for (const [place, key] of keys.entries()) {
      const head = heads[place] ?? null;
      if (head !== null && (state ?? head.state) === head.state)
        places.push({ at: head.createdAt, id: handleOf(key), key });
    }
  }
  return places.toSorted(newestFirst);
};

/** A page, newest first: of all that may fit the age is read, of those on the page and before it what they are. */
const listPage = async (
  request: FastifyRequest,
  query: z.infer<typeof Listing>,
  { records, laneOf }: PendingRoutesOptions,
) => {
  const { limit } = query;
  const rest = skipTo(await findPlaces(request, query, records), query.cursor);
  const keys = rest.map(({ key }) => key);
  const found: OpenCall[] = [];
  for await (const some of describeCalls(request, query, keys, records)) {
    found.push(...some);
    if (found.length > limit) break;
  }
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const place = found.length > limit ? rest.find(({ key }) => key === last?.key) : undefined;
  return {
    items: items.map((call) => describeCall(call, laneOf)),
    next_cursor: place === undefined ? null : toCursor(place),
  };
};

// Only what ends it is remembered: there may be tens of thousands.
const pickQueued = (key: string, record: CallRecord | null): readonly EndedCall[] =>
  record !== null && NOT_BEGUN.has(record.state) && record.spec !== null
    ? [{ key, tenant: record.spec.tenant, tool: record.spec.tool }]
    : [];

const NOT_BEGUN: ReadonlySet<CallRecord['state']> = new Set(['queued', 'waiting_for_approval']);

const inParts = <Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));

const describeCall = ({ key, spec, state }: OpenCall, laneOf: PendingRoutesOptions['laneOf']) => ({
  request_id: spec.requestId,
  index: spec.index,
  call: handleOf(key),
  tool: spec.tool,
  lane: laneOf(spec.tool),
  key: spec.key,
  key_hash: spec.keyHash?.slice(0, 8) ?? null,
  state,
  since: new Date(spec.acceptedAt).toISOString(),
  expires_at: new Date(spec.expiresAt).toISOString(),
  // The SHA-256 of the session's id: of what stands before it, the tenant is known.
  session: spec.sessionKey?.slice(spec.sessionKey.lastIndexOf(':') + 1) ?? null,
});
