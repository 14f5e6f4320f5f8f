import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Caller } from 'recourse-server/auth/callers';
import { FAILURE_CODES, FAULTS } from 'recourse-server/contract/failure';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import { PAGING, ToolName, toPage } from 'recourse-server/routes/list-page';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { ProblemError, readQuery } from 'recourse-server/routes/problems';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { sendReading } from 'recourse-server/routes/send-answer';
import { askStore } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import type { Found, SessionItem } from '../contract/contract.ts';
import type { ListedCall, TenantIndex } from './call-index.ts';
import { hashOf } from './call-notes.ts';

/** A session in a list. */
export type ListedSession = { readonly at: number; readonly id: string; readonly item: SessionItem };

export type ListRoutesOptions = {
  /** Rejects with the store. */
  readonly read: (tenant: string) => Promise<TenantIndex>;
  /** Sessions of an index as a caller sees them, newest first. */
  readonly listSessions: (index: TenantIndex, caller: Caller) => readonly ListedSession[];
  /** Whether results are stored under the key of a request that this caller may see. Rejects with the store. */
  readonly hasResults: (requestKey: string, caller: Caller) => Promise<boolean>;
  /** A call that outlives its request, ended or not. Rejects with the store. */
  readonly findPending: (
    tenant: string,
    handle: string,
  ) => Promise<Pick<CallSpec, 'tool' | 'requestId' | 'index'> | null>;
};

const MAX_TEXT = 256;
const HASH_PREFIX = /^~?([0-9a-f]{8,64})$/i;
const MOST_FOUND = 20;
const HANDLE = /^c_[A-Za-z0-9_-]{1,64}$/;

// Strict: a filter that is misspelled would list others.
const Sessions = z.strictObject({
  state: z.enum(['failing', 'blocked', 'recent']).default('recent'),
  q: z.string().min(1).max(MAX_TEXT).optional(),
  ...PAGING,
});
const Calls = z.strictObject({
  tool: ToolName.optional(),
  code: z.enum(FAILURE_CODES).optional(),
  fault: z.enum(FAULTS).optional(),
  session: z
    .string()
    .regex(HASH_PREFIX, 'must be the first 8 to 64 hex digits of the SHA-256 of a session id')
    .optional(),
  request_id: z.string().min(1).max(MAX_TEXT).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  ...PAGING,
});
const OneCall = z.strictObject({
  request_id: z.string().min(1).max(MAX_TEXT).optional(),
  index: z.coerce.number().int().min(0).optional(),
});
const Search = z.strictObject({ q: z.string().trim().min(1).max(MAX_TEXT) });

const operation = { config: { operation: 'read' } } as const;

/**
 * GET /sessions, /calls, /calls/{reference} and /search: sessions and failed calls of the last day of the caller's tenant, of the
 * tools that it may use.
 */
export const addListRoutes = (app: FastifyInstance, host: RouteHost, options: ListRoutesOptions): void => {
  const send = (reply: FastifyReply, body: unknown): FastifyReply => sendReading(reply, JSON.stringify(body));
  const listCalls = async ({ tenant, mayUse }: Caller): Promise<readonly ListedCall[]> =>
    (await askStore(options.read(tenant))).calls.filter(({ call }) => mayUse(call.tool));

  app.get('/sessions', operation, async (request, reply) => {
    const { state, q, ...paging } = readQuery(Sessions, request.query);
    const caller = host.callerOf(request);
    const { tenant } = caller;
    const all = options.listSessions(await askStore(options.read(tenant)), caller);
    const matches = q === undefined ? () => true : createSessionMatch(q, hashOf(host.toSessionKey(tenant, q)));
    const fitting = all.filter(({ item }) => (state === 'recent' || item.state === state) && matches(item));
    const { items, next_cursor } = toPage(fitting, paging);
    return send(reply, { items: items.map(({ item }) => item), next_cursor });
  });
  refuseOtherMethods(app, '/sessions', ['GET', 'HEAD']);

  app.get('/calls', operation, async (request, reply) => {
    const { cursor, limit, ...filter } = readQuery(Calls, request.query);
    const fitting = (await listCalls(host.callerOf(request))).filter(createCallMatch(filter));
    const { items, next_cursor } = toPage(fitting, { cursor, limit });
    return send(reply, { items: items.map(({ call }) => call), next_cursor });
  });
  refuseOtherMethods(app, '/calls', ['GET', 'HEAD']);

  app.get<{ Params: { reference: string } }>('/calls/:reference', operation, async (request, reply) => {
    const { reference } = request.params;
    const { request_id: requestId, index } = readQuery(OneCall, request.query);
    // Equal failures that the log has once have one reference: the latest of them.
    const found = (await listCalls(host.callerOf(request))).find(
      ({ call }) =>
        call.reference === reference &&
        (requestId ?? call.request_id) === call.request_id &&
        (index ?? call.index) === call.index,
    );
    if (found === undefined) throw new ProblemError(404, 'call_not_listed', NOT_LISTED);
    return send(reply, found.call);
  });
  refuseOtherMethods(app, '/calls/:reference', ['GET', 'HEAD']);

  app.get('/search', operation, async (request, reply) => {
    const { q } = readQuery(Search, request.query);
    return send(reply, { found: await askStore(search(q, host.callerOf(request), host, options)) });
  });
  refuseOtherMethods(app, '/search', ['GET', 'HEAD']);
};

/** What a failed call is answered that is not in the list. */
export const NOT_LISTED = 'No failure of the last day that this key may see has that reference.';

/** `hash`: of the session that is called `q`. */
const createSessionMatch = (q: string, hash: string): ((item: SessionItem) => boolean) => {
  const [, prefix = ''] = HASH_PREFIX.exec(q) ?? [];
  return ({ session, id }) =>
    session === hash || id?.includes(q) === true || (prefix !== '' && session.startsWith(prefix.toLowerCase()));
};

type CallFilter = Omit<z.infer<typeof Calls>, 'cursor' | 'limit'>;

const createCallMatch = ({ session, since, ...equal }: CallFilter): ((listed: ListedCall) => boolean) => {
  const prefix = session?.replace('~', '').toLowerCase() ?? '';
  const sinceMs = since === undefined ? 0 : Date.parse(since);
  const isEqual = ({ call }: ListedCall): boolean =>
    (equal.tool ?? call.tool) === call.tool &&
    (equal.code ?? call.code) === call.code &&
    (equal.fault ?? call.fault) === call.fault &&
    (equal.request_id ?? call.request_id) === call.request_id;
  return (listed) =>
    listed.at >= sinceMs && (prefix === '' || listed.call.session?.startsWith(prefix) === true) && isEqual(listed);
};

/** What has this id or reference, sessions first. Rejects with the store. */
const search = async (
  q: string,
  caller: Caller,
  host: Pick<RouteHost, 'toSessionKey' | 'toRequestKey'>,
  options: ListRoutesOptions,
): Promise<readonly Found[]> => {
  const { tenant, mayUse } = caller;
  const [index, isStored, pending] = await Promise.all([
    options.read(tenant),
    options.hasResults(host.toRequestKey(tenant, q), caller),
    HANDLE.test(q) ? options.findPending(tenant, q) : null,
  ]);
  const matches = createSessionMatch(q, hashOf(host.toSessionKey(tenant, q)));
  const sessions = options.listSessions(index, caller).filter(({ item }) => matches(item));
  const calls = index.calls.filter(({ call }) => mayUse(call.tool));
  const named = calls.filter(({ call }) => call.reference === q);
  const failures = calls.filter(({ call }) => call.request_id === q);
  const found: Found[] = [];
  for (const { item } of sessions) found.push({ kind: 'session', session: item.session, state: item.state });
  const [latest] = named;
  if (latest !== undefined) found.push({ kind: 'call', reference: q, tool: latest.call.tool, code: latest.call.code });
  if (isStored || failures.length > 0)
    found.push({ kind: 'request', request_id: q, failures: failures.length, has_results: isStored });
  if (pending !== null && mayUse(pending.tool))
    found.push({ kind: 'pending', call: q, request_id: pending.requestId, index: pending.index, tool: pending.tool });
  return found.slice(0, MOST_FOUND);
};
