import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { PendingState } from 'recourse-server/contract/tool-result';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import { ignoreBodies } from 'recourse-server/routes/body-parsers';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { overloaded, readQuery } from 'recourse-server/routes/problems';
import { callerKeyOf, callerOf } from 'recourse-server/routes/request-gate';
import { sendReading } from 'recourse-server/routes/send-answer';
import { askStore } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import { type CallRecord, handleOf, KEY_HOLDER } from './calls/call-kind.ts';
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
const Listing = Filter.extend({ limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(100) });
const Cancelling = Filter.extend({ force: z.enum(['true', 'false']).default('false') }).refine(
  ({ key, tool }) => key !== undefined || tool !== undefined,
  'name the calls by key= or tool=',
);

type OpenCall = { readonly key: string; readonly state: PendingState; readonly spec: CallSpec };
type EndedCall = { readonly key: string } & Pick<CallSpec, 'tenant' | 'tool'>;

/**
 * GET and DELETE /calls/pending: the pending calls of the caller's tenant, of the tools that it may use. For operators: a
 * request id that only the owner of a leaked key has is not needed. Both go through all pending calls, a few at a time.
 * `end`: ends a call that no worker runs, by what its record says. `closed`: aborted when the service stops.
 */
export const addPendingCallsRoutes = (
  app: FastifyInstance,
  {
    records,
    onFailed,
    end,
    closed,
  }: {
    readonly records: Pick<CallRecords, 'live' | 'describe' | 'cancel'>;
    readonly onFailed: (error: unknown) => void;
    readonly end: (key: string, call: EndedCall) => Promise<void>;
    readonly closed: AbortSignal;
  },
): void => {
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
    const list = async () => {
      const calls: OpenCall[] = [];
      let total = 0;
      for await (const found of findOpenCalls(request, query, records)) {
        total += found.length;
        calls.push(...found.slice(0, Math.max(0, query.limit - calls.length)));
      }
      const oldestFirst = calls.toSorted((one, other) => one.spec.acceptedAt - other.spec.acceptedAt);
      return { calls: oldestFirst.map(describeCall), total };
    };
    return sendReading(reply, JSON.stringify(await once(request, list)));
  });
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

/** Those that fit the query. Rejects with the store. */
async function* findOpenCalls(
  request: FastifyRequest,
  { key: keyHash, tool }: z.infer<typeof Filter>,
  records: Pick<CallRecords, 'live' | 'describe'>,
): AsyncIterable<readonly OpenCall[]> {
  const { tenant, mayUse } = callerOf(request);
  // Of who is anonymous, calls from the same address alone.
  const caller = callerKeyOf(request);
  const holders = keyHash === undefined ? '' : KEY_HOLDER + keyHash.toLowerCase();
  const pickFitting = (key: string, record: CallRecord | null): readonly OpenCall[] => {
    if (record === null || record.state === 'ended') return [];
    // Whether it fits is sealed, and to leave it out could leave a call to a key that leaked.
    const spec = requireSpec(record);
    const fits = spec.caller === caller && (tool === undefined || spec.tool === tool) && mayUse(spec.tool);
    return fits ? [{ key, state: record.state, spec }] : [];
  };
  for await (const part of records.live.list()) {
    const mayFit = part.filter(({ key, holder }) => key.startsWith(`${tenant}:`) && holder.startsWith(holders));
    for (const some of inParts(mayFit, READ_AT_ONCE))
      yield (await Promise.all(some.map(async ({ key }) => pickFitting(key, await records.describe(key))))).flat();
  }
}

// Only what ends it is remembered: there may be tens of thousands.
const pickQueued = (key: string, record: CallRecord | null): readonly EndedCall[] =>
  record !== null && NOT_BEGUN.has(record.state) && record.spec !== null
    ? [{ key, tenant: record.spec.tenant, tool: record.spec.tool }]
    : [];

const NOT_BEGUN: ReadonlySet<CallRecord['state']> = new Set(['queued', 'waiting_for_approval']);

const inParts = <Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));

const describeCall = ({ key, spec, state }: OpenCall) => ({
  request_id: spec.requestId,
  index: spec.index,
  call: handleOf(key),
  tool: spec.tool,
  key: spec.key,
  key_hash: spec.keyHash?.slice(0, 8) ?? null,
  state,
  since: new Date(spec.acceptedAt).toISOString(),
  expires_at: new Date(spec.expiresAt).toISOString(),
  // The SHA-256 of the session's id: of what stands before it, the tenant is known.
  session: spec.sessionKey?.slice(spec.sessionKey.lastIndexOf(':') + 1) ?? null,
});
