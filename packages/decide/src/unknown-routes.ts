import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isRecord } from 'recourse-server/contract/json-record';
import type { IdempotencyStore } from 'recourse-server/executor/idempotency-store';
import { hideSensitive } from 'recourse-server/executor/journal';
import type { Redactor } from 'recourse-server/executor/redactor';
import { parseJson } from 'recourse-server/json/parse-json';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import {
  createNotStoredProblem,
  operationNotAllowed,
  overloaded,
  ProblemError,
  readQuery,
} from 'recourse-server/routes/problems';
import { callerKeyOf, callerOf } from 'recourse-server/routes/request-gate';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { sendReading } from 'recourse-server/routes/send-answer';
import { askStore } from 'recourse-server/routes/sessions';
import { parseIndex } from 'recourse-server/routes/stored-results';
import type { Tool } from 'recourse-server/tools/tool';
import * as z from 'zod';
import { createEnd } from './checks.ts';
import type { HandVerdict } from './effects/effect-decisions.ts';
import { type Effect, type EffectSpec, effectKeyOf } from './effects/effect-kind.ts';
import type { EffectStore, OpenEffect } from './effects/effect-store.ts';
import type { LookStep } from './looker.ts';

export type UnknownRoutesOptions = {
  readonly effects: EffectStore;
  readonly keys: Pick<IdempotencyStore, 'find'>;
  /** The result of a pending call of the tenant, JSON text; null: it has none. */
  readonly findPending: (tenant: string, handle: string) => Promise<string | null>;
  readonly findTool: (name: string) => Tool | undefined;
  readonly redactor: Pick<Redactor, 'value' | 'cut'>;
  /** Looks at one effect now. Rejects with the store. */
  readonly look: (key: string) => Promise<LookStep>;
  readonly apply: (key: string, effect: Effect) => Promise<void>;
  /** A person has settled an effect, or was too late. */
  readonly onDecided: (about: {
    readonly spec: EffectSpec;
    readonly by: string | null;
    readonly verdict: string;
    readonly reason: string;
    readonly result: HandVerdict['kind'];
  }) => void;
};

const MOST_LISTED = 1000;
const READ_AT_ONCE = 50;

// Strict: a filter that is misspelled would list others.
const Listing = z.strictObject({
  tool: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a tool')
    .optional(),
  limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(100),
});

const MAX_REASON = 500;
const MAX_BODY_BYTES = 300_000;

/** What a person says of a write. */
const Verdict = z.strictObject({
  verdict: z.enum(['happened', 'did_not_happen']),
  value: z.unknown().optional(),
  reason: z.string().min(1).max(MAX_REASON),
});

type OfCall = { Params: { request_id: string; index: string } };

/**
 * GET /calls/unknown: the writes of the caller's tenant of which nobody knows how they ended, of the tools that it may use. POST
 * /tool-calls/{request_id}/calls/{index}/reconcile looks for one of them now; with a body, a person who may `operate` settles it, under
 * the fence that `If-Match` names.
 */
export const addUnknownRoutes = (app: FastifyInstance, host: RouteHost, options: UnknownRoutesOptions): void => {
  const { effects, redactor } = options;
  const busy = new Set<string>();
  const once = <Answer>(request: FastifyRequest, ask: () => Promise<Answer>): Promise<Answer> => {
    const asker = callerOf(request).rateKey ?? callerKeyOf(request);
    if (busy.has(asker)) throw overloaded({ reason: 'unknown_lists', retryAfterSeconds: 1 });
    busy.add(asker);
    return askStore(ask()).finally(() => busy.delete(asker));
  };
  const describe = (open: OpenEffect) => describeEffect(open, options.findTool(open.spec.tool), redactor);
  app.get('/calls/unknown', { config: { operation: 'read' } }, async (request, reply) => {
    const { tool, limit } = readQuery(Listing, request.query);
    const list = async () => {
      const found: OpenEffect[] = [];
      for await (const some of findUnknown(request, effects))
        found.push(...some.filter(({ spec }) => tool === undefined || spec.tool === tool));
      const oldestFirst = found.toSorted((one, other) => one.effect.openedAt - other.effect.openedAt);
      return { calls: oldestFirst.slice(0, limit).map(describe), total: found.length };
    };
    return sendReading(reply, JSON.stringify(await once(request, list)));
  });
  refuseOtherMethods(app, '/calls/unknown', ['GET', 'HEAD']);

  const path = '/tool-calls/:request_id/calls/:index/reconcile';
  app.post<OfCall>(path, { bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
    const body = host.bodyOf(request);
    const verdict = body === undefined ? null : readVerdict(request, body);
    const fence = verdict === null ? 0 : readFence(request);
    const { request_id: requestId, index } = request.params;
    const place = { requestId, index: parseIndex(index) };
    const found = await findEffect(request, place, host, options);
    if (found === null) throw createNotStoredProblem();
    if (verdict === null) await askStore(options.look(found.key));
    else await decide(request, found, { ...verdict, fence }, options);
    const now = await askStore(effects.find(found.key));
    return send(reply, now === null ? { ...describe(found), state: 'ended' } : describe(now));
  });
  refuseOtherMethods(app, path, ['POST']);
};

const send = <Body extends { readonly fence: number }>(reply: FastifyReply, body: Body): FastifyReply =>
  sendReading(reply.header('etag', `"${body.fence}"`), JSON.stringify(body));

const readVerdict = (request: FastifyRequest, body: unknown): z.infer<typeof Verdict> => {
  if (!callerOf(request).may('operate'))
    throw operationNotAllowed(
      'The key may not settle calls by hand: it needs the operation operate, which is never implied.',
    );
  const read = Verdict.safeParse(body);
  if (read.success) return read.data;
  throw new ProblemError(
    400,
    'invalid_verdict',
    `Send {"verdict": "happened" | "did_not_happen", "value"?, "reason"}, with a reason of 1 to ${MAX_REASON} characters.`,
  );
};

/** The fence of the record that the person has read. */
const readFence = ({ headers }: FastifyRequest): number => {
  const [, fence] = /^(?:W\/)?"?(\d{1,9})"?$/.exec(headers['if-match'] ?? '') ?? [];
  if (fence !== undefined) return Number(fence);
  throw new ProblemError(428, 'fence_required', 'Send If-Match with the fence that GET /calls/unknown shows.');
};

const decide = async (
  request: FastifyRequest,
  { key, spec }: OpenEffect,
  { verdict, value, reason, fence }: z.infer<typeof Verdict> & { readonly fence: number },
  { effects, apply, redactor, onDecided }: UnknownRoutesOptions,
): Promise<void> => {
  const shownReason = redactor.cut(reason, MAX_REASON, 'log');
  const end = createEnd('person', verdict, { value, reason: shownReason });
  const decided = await askStore(
    effects.settleByHand(key, fence, { ...end, valueJson: redactor.value(end.valueJson, 'result') }),
  );
  const by = callerOf(request).key;
  onDecided({ spec, by, verdict, reason: shownReason, result: decided.kind });
  if (decided.kind !== 'settled') throw explainTooLate(decided);
  await askStore(apply(key, decided.effect));
};

const explainTooLate = ({ kind, fence }: Exclude<HandVerdict, { kind: 'settled' }>): ProblemError => {
  const etag: Readonly<Record<string, string>> = fence === 0 ? {} : { etag: `"${fence}"` };
  if (kind === 'running')
    return new ProblemError(409, 'call_running', 'A process still runs this call. Wait for its end.', etag);
  return kind === 'other_fence'
    ? new ProblemError(409, 'fence_passed', 'The call has changed since that fence. Read it again, then decide.', etag)
    : new ProblemError(409, 'outcome_settled', 'It is known how this call ended. Read its result.', etag);
};

/** Effects of a tenant that are open, a few at a time. Rejects with the store. */
export async function* listUnknown(tenant: string, effects: EffectStore): AsyncIterable<readonly OpenEffect[]> {
  for await (const part of effects.live.list()) {
    const own = part.filter(({ key }) => key.startsWith(`${tenant}:`));
    for (let from = 0; from < own.length; from += READ_AT_ONCE) {
      const read = await Promise.all(own.slice(from, from + READ_AT_ONCE).map(({ key }) => effects.find(key)));
      yield read.filter((open) => open !== null).filter(isUnknown);
    }
  }
}

/** Those of the caller's tenant that it may see. */
async function* findUnknown(request: FastifyRequest, effects: EffectStore): AsyncIterable<readonly OpenEffect[]> {
  for await (const some of listUnknown(callerOf(request).tenant, effects))
    yield some.filter((open) => maySee(request, open));
}

const isUnknown = ({ effect }: OpenEffect): boolean => effect.state === 'open';

// Of who is anonymous, calls from the same address alone.
const maySee = (request: FastifyRequest, { spec }: OpenEffect): boolean =>
  spec.holder === callerKeyOf(request) && callerOf(request).mayUse(spec.tool);

type Place = { readonly requestId: string; readonly index: number };

/** The effect of a call: by what its result says, or, where there is none yet, among those that are open. */
const findEffect = async (
  request: FastifyRequest,
  { requestId, index }: Place,
  host: Pick<RouteHost, 'toRequestKey'>,
  options: UnknownRoutesOptions,
): Promise<OpenEffect | null> => {
  const { effects, keys } = options;
  const { tenant } = callerOf(request);
  const answered = await keys.find(host.toRequestKey(tenant, requestId));
  const result = answered === null || answered === 'unavailable' ? null : (answered.results[index] ?? null);
  if (result === null) return askStore(findAmongOpen(request, { requestId, index }, effects));
  const effectId = await findNamed(tenant, result, options);
  const open = await askStore(effects.find(effectKeyOf({ tenant, effectId })));
  return open !== null && maySee(request, open) ? open : null;
};

const findAmongOpen = async (
  request: FastifyRequest,
  { requestId, index }: Place,
  effects: EffectStore,
): Promise<OpenEffect | null> => {
  for await (const some of findUnknown(request, effects)) {
    const open = some.find(({ spec }) => spec.requestId === requestId && spec.index === index);
    if (open !== undefined) return open;
  }
  return null;
};

const Named = z.object({
  error: z.object({ effect_id: z.string().optional() }).nullable(),
  pending: z.object({ call: z.string() }).optional(),
});

/** The effect id that a result names, also that of the pending call which it was. Throws where it is known how the call ended. */
const findNamed = async (
  tenant: string,
  result: string,
  { findPending }: Pick<UnknownRoutesOptions, 'findPending'>,
): Promise<string> => {
  const handle = readNamed(result)?.pending?.call;
  const ended = handle === undefined ? result : await askStore(findPending(tenant, handle));
  if (ended === null) throw explainTooLate({ kind: 'running', fence: 0 });
  const effectId = readNamed(ended)?.error?.effect_id;
  if (effectId === undefined) throw explainTooLate({ kind: 'already_settled', fence: 0 });
  return effectId;
};

const readNamed = (result: string): z.infer<typeof Named> | null => {
  const parsed = parseJson(result);
  return parsed.ok && isRecord(parsed.value) ? (Named.safeParse(parsed.value).data ?? null) : null;
};

const MAX_SHOWN_ARGUMENTS = 2000;

const describeEffect = ({ effect, spec }: OpenEffect, tool: Tool | undefined, redactor: Pick<Redactor, 'cut'>) => {
  const { state, failure, end, fence, attempts, openedAt, nextAt, actsUntil, leaseEndsAt } = effect;
  const parsed = parseJson(spec.arguments);
  const shown = tool === undefined || !parsed.ok ? '' : JSON.stringify(hideSensitive(parsed.value, tool));
  return {
    request_id: spec.requestId,
    index: spec.index,
    id: spec.id,
    tool: spec.tool,
    effect_id: spec.effectId,
    arguments: redactor.cut(shown, MAX_SHOWN_ARGUMENTS, 'journal'),
    state,
    verdict: end?.verdict ?? null,
    by: end?.by ?? null,
    code: failure?.code ?? null,
    since: openedAt === 0 ? null : new Date(openedAt).toISOString(),
    attempts,
    next_look_at: state === 'open' ? new Date(nextAt).toISOString() : null,
    run_may_act_until: leaseEndsAt !== 0 || actsUntil > openedAt ? new Date(actsUntil).toISOString() : null,
    fence,
  };
};
