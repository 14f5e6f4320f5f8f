import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hideSensitive } from 'recourse-server/executor/journal';
import type { Redactor } from 'recourse-server/executor/redactor';
import { parseJson } from 'recourse-server/json/parse-json';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { operationNotAllowed, ProblemError, readQuery } from 'recourse-server/routes/problems';
import { callerOf } from 'recourse-server/routes/request-gate';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { sendReading } from 'recourse-server/routes/send-answer';
import { askStore } from 'recourse-server/routes/sessions';
import type { Tool } from 'recourse-server/tools/tool';
import * as z from 'zod';
import { hashSession } from './approval-digest.ts';
import { approvalIdOf, approvalKeyOf, type Verdict } from './approval-kind.ts';
import type { ApprovalStore, OpenApproval } from './approval-store.ts';

export type ApprovalRoutesOptions = {
  readonly store: ApprovalStore;
  readonly findTool: (name: string) => Tool | undefined;
  readonly redactor: Pick<Redactor, 'value' | 'cut'>;
  /** A person has decided, or was too late. */
  readonly onDecided: (
    found: OpenApproval,
    about: {
      readonly by: string | null;
      readonly decision: string;
      readonly reason: string | null;
      readonly result: string;
      /** Of what may run, or was to. */
      readonly digest: string;
    },
  ) => void;
  /** Tells the pending call that waits for it. Rejects with the store. */
  readonly release: (key: string) => Promise<void>;
  /** Why the arguments of an edit cannot run; null: they can. */
  readonly prepareEdit: (found: OpenApproval, input: Readonly<Record<string, unknown>>) => Promise<Edit>;
};

/** What an edit comes to. */
export type Edit =
  | { readonly kind: 'valid'; readonly input: Readonly<Record<string, unknown>>; readonly digest: string }
  | { readonly kind: 'invalid'; readonly problem: string };

const MOST_LISTED = 1000;
const READ_AT_ONCE = 50;
const MAX_REASON = 500;
const MAX_BODY_BYTES = 300_000;
/** The longest arguments that a list shows, in characters of JSON. */
const MAX_LISTED_ARGUMENTS = 16_384;

// Strict: a filter that is misspelled would list others.
const Listing = z.strictObject({
  state: z.enum(['waiting']).default('waiting'),
  tool: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a tool')
    .optional(),
  limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(100),
});

const Decision = z
  .strictObject({
    decision: z.enum(['approve', 'deny', 'edit']),
    arguments: z.record(z.string(), z.unknown()).optional(),
    reason: z.string().min(1).max(MAX_REASON).optional(),
  })
  .refine(({ decision, arguments: edited }) => (decision === 'edit') === (edited !== undefined));
type Decision = z.infer<typeof Decision>;

type OfApproval = { Params: { id: string } };

/**
 * GET /approvals: what of the caller's tenant waits for a person, of the tools that it may use. POST /approvals/{id} decides it, under the
 * digest that `If-Match` names; DELETE undoes a denial, or withdraws what waits or was granted.
 */
export const addApprovalRoutes = (app: FastifyInstance, host: RouteHost, options: ApprovalRoutesOptions): void => {
  const { store } = options;
  const operation = { config: { operation: 'read' } } as const;
  app.get('/approvals', operation, async (request, reply) => {
    const { tool, limit } = readQuery(Listing, request.query);
    const { tenant, mayUse } = callerOf(request);
    const found = await askStore(listWaiting(tenant, store));
    const listed = found
      .filter(({ spec }) => mayUse(spec.tool) && (tool === undefined || spec.tool === tool))
      .toSorted((one, other) => one.approval.requestedAt - other.approval.requestedAt);
    const approvals = listed.slice(0, limit).map((one) => describe(one, options, MAX_LISTED_ARGUMENTS));
    return sendReading(reply, JSON.stringify({ approvals, total: listed.length }));
  });
  refuseOtherMethods(app, '/approvals', ['GET', 'HEAD']);

  app.get<OfApproval>('/approvals/:id', operation, async (request, reply) =>
    send(reply, await findOwn(request, request.params.id, options), options),
  );
  app.post<OfApproval>('/approvals/:id', { ...operation, bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
    const decision = readDecision(host.bodyOf(request));
    const digest = readDigest(request);
    const found = await findOwn(request, request.params.id, options);
    mayDecide(request, found);
    await decide(request, found, { ...decision, digest }, options);
    return send(reply, await findOwn(request, request.params.id, options), options);
  });
  app.delete<OfApproval>('/approvals/:id', operation, async (request, reply) => {
    const found = await findOwn(request, request.params.id, options);
    mayDecide(request, found);
    const withdrawn = await askStore(store.withdraw(found.key, 'cancelled'));
    if (withdrawn?.isFirst === true) {
      const by = callerOf(request).key;
      options.onDecided(found, {
        by,
        decision: 'withdraw',
        reason: null,
        result: 'decided',
        digest: found.approval.digest,
      });
      await askStore(options.release(found.key));
    }
    return send(reply, await findOwn(request, request.params.id, options), options);
  });
  refuseOtherMethods(app, '/approvals/:id', ['GET', 'HEAD', 'POST', 'DELETE']);
};

const send = (reply: FastifyReply, found: OpenApproval, options: ApprovalRoutesOptions): FastifyReply =>
  sendReading(
    reply.header('etag', `"${found.approval.digest}"`),
    JSON.stringify(describe(found, options, Number.POSITIVE_INFINITY)),
  );

const readDecision = (body: unknown): Decision => {
  const read = Decision.safeParse(body);
  if (read.success) return read.data;
  throw new ProblemError(
    400,
    'invalid_decision',
    `Send {"decision": "approve" | "deny" | "edit", "reason"?}, with "arguments" of an edit and of nothing else, and a reason of 1 to ${MAX_REASON} characters.`,
  );
};

/** The digest of what the person has read. */
const readDigest = ({ headers }: FastifyRequest): string => {
  const [, digest] = /^(?:W\/)?"?(sha256:[0-9a-f]{64})"?$/.exec(headers['if-match'] ?? '') ?? [];
  if (digest !== undefined) return digest;
  throw new ProblemError(428, 'digest_required', 'Send If-Match with the digest that GET /approvals shows.');
};

/** An approval of the caller's tenant, of a tool that it may use. */
const findOwn = async (
  request: FastifyRequest,
  id: string,
  { store }: Pick<ApprovalRoutesOptions, 'store'>,
): Promise<OpenApproval> => {
  const { tenant, mayUse } = callerOf(request);
  const found = /^a_[\w-]{22}$/.test(id) ? await askStore(store.find(approvalKeyOf(tenant, id))) : null;
  if (found !== null && mayUse(found.spec.tool)) return found;
  throw new ProblemError(404, 'approval_not_found', 'There is no such approval, or it is no longer kept.');
};

/** Throws where the caller is none of those who may decide it. */
const mayDecide = (request: FastifyRequest, { spec }: OpenApproval): void => {
  const caller = callerOf(request);
  const hasKey = spec.keyHash === (caller.keyHash ?? null);
  const isRequester = hasKey && spec.caller === caller.id;
  if (spec.fourEyes && ((hasKey && spec.keyHash !== null) || spec.caller === caller.id))
    throw operationNotAllowed('Another key than the one that called has to decide this approval.');
  if (spec.by.includes('operator') && caller.may('approve')) return;
  if (spec.by.includes('requester') && isRequester) return;
  throw operationNotAllowed(
    'The key may not decide this approval: it needs the operation approve, which is never implied.',
  );
};

const decide = async (
  request: FastifyRequest,
  found: OpenApproval,
  { decision, arguments: edited, reason, digest }: Decision & { readonly digest: string },
  options: ApprovalRoutesOptions,
): Promise<void> => {
  const { store, redactor, onDecided } = options;
  const by = callerOf(request).key;
  const shownReason = reason === undefined ? null : redactor.cut(reason, MAX_REASON, 'log');
  const edit = edited === undefined ? null : await readEdit(found, edited, options);
  const verdict: Verdict = {
    ...{ decision, by, reason: shownReason, digest: edit?.digest ?? digest },
    arguments: edit === null ? null : JSON.stringify(edit.input),
  };
  const decided = await askStore(
    store.decide(found, digest, { state: decision === 'deny' ? 'denied' : 'granted', verdict }),
  );
  onDecided(found, { by, decision, reason: shownReason, result: decided?.kind ?? 'gone', digest: verdict.digest });
  if (decided?.kind !== 'decided') throw await explainTooLate(found.key, decided?.kind ?? 'gone', store);
  await askStore(options.release(found.key));
};

const readEdit = async (
  found: OpenApproval,
  input: Readonly<Record<string, unknown>>,
  { prepareEdit }: Pick<ApprovalRoutesOptions, 'prepareEdit'>,
): Promise<Extract<Edit, { kind: 'valid' }>> => {
  if (!found.spec.mayEdit)
    throw operationNotAllowed('The arguments of this call may not be edited: its rule does not say edit: true.');
  const edit = await prepareEdit(found, input);
  if (edit.kind === 'valid') return edit;
  throw new ProblemError(400, 'invalid_arguments', edit.problem);
};

const explainTooLate = async (key: string, kind: string, store: ApprovalStore): Promise<ProblemError> => {
  const now = await askStore(store.find(key));
  if (now === null) return new ProblemError(404, 'approval_not_found', 'The approval is no longer kept.');
  const etag = { etag: `"${now.approval.digest}"` };
  return kind === 'other_digest'
    ? new ProblemError(412, 'digest_changed', 'The approval is for another digest. Read it again, then decide.', etag)
    : new ProblemError(409, 'approval_decided', explainState(now), etag);
};

const explainState = ({ approval: { state, decidedAt }, verdict }: OpenApproval): string => {
  if (verdict === null) return `Nobody can decide this approval any more: it is ${state}.`;
  const who = verdict.by === null ? 'Somebody without a key' : `'${verdict.by}'`;
  return `${who} has decided ${verdict.decision} at ${new Date(decidedAt).toISOString()}; the approval is ${state}.`;
};

/** Approvals of a tenant that wait. Rejects with the store. */
export const listWaiting = async (tenant: string, store: ApprovalStore): Promise<readonly OpenApproval[]> => {
  const waiting: OpenApproval[] = [];
  for await (const part of store.live.list()) {
    const own = part.filter(({ holder }) => holder === tenant);
    for (let from = 0; from < own.length; from += READ_AT_ONCE) {
      const read = await Promise.all(own.slice(from, from + READ_AT_ONCE).map(({ key }) => store.find(key)));
      waiting.push(...read.filter((open) => open !== null).filter(({ approval }) => approval.state === 'waiting'));
    }
  }
  return waiting;
};

const describe = (
  { key, approval, spec, verdict }: OpenApproval,
  { findTool, redactor }: Pick<ApprovalRoutesOptions, 'findTool' | 'redactor'>,
  most: number,
) => {
  const tool = findTool(spec.tool);
  // Nobody knows what is secret in the arguments of a tool that is gone.
  const show = (json: string | null): unknown => {
    const parsed = json === null || json.length > most || tool === undefined ? null : parseJson(json);
    if (parsed?.ok !== true || tool === undefined) return null;
    return JSON.parse(redactor.value(JSON.stringify(hideSensitive(parsed.value, tool)), 'result'));
  };
  const { state, digest, requestedAt, endsAt, decidedAt } = approval;
  return {
    id: approvalIdOf(key),
    digest,
    state,
    tool: spec.tool,
    effects: spec.effects,
    arguments: show(spec.arguments),
    edited_arguments: verdict === null ? null : show(verdict.arguments),
    summary: spec.summary,
    key: spec.key,
    session: spec.sessionKey === null ? null : hashSession(spec.sessionKey),
    call: spec.handle,
    request_id: spec.requestId,
    index: spec.index,
    by: spec.by,
    four_eyes: spec.fourEyes,
    edit: spec.mayEdit,
    requested_at: new Date(requestedAt).toISOString(),
    expires_at: endsAt === 0 ? null : new Date(endsAt).toISOString(),
    decision: verdict?.decision ?? null,
    decided_by: verdict?.by ?? null,
    decided_at: decidedAt === 0 ? null : new Date(decidedAt).toISOString(),
    reason: verdict?.reason ?? null,
  };
};
