import type { Webhooks } from '@recourse/background/webhooks/webhooks';
import type { Executed } from 'recourse-server/contract/failure';
import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import type { IdempotencyStore } from 'recourse-server/executor/idempotency-store';
import { MAX_REQUEST_ID, toLateLine } from 'recourse-server/executor/journal-entries';
import type { Redactor } from 'recourse-server/executor/redactor';
import { NO_NOTES, renderOutcome } from 'recourse-server/executor/render-result';
import type { SessionStore } from 'recourse-server/executor/session-store';
import type { Effect, EffectSpec } from './effects/effect-kind.ts';
import { type EffectStore, entryOf } from './effects/effect-store.ts';
import { createSettledOutcome } from './settled-outcome.ts';

export type ApplyOptions = {
  readonly effects: EffectStore;
  readonly keys: Pick<IdempotencyStore, 'settle'>;
  /** Puts a result in the place of the result of a pending call that is unknown; false: the call has not ended yet. */
  readonly settlePending: (tenant: string, handle: string, result: string) => Promise<boolean>;
  readonly sessions: Pick<SessionStore, 'resume'>;
  readonly webhooks: Pick<Webhooks, 'emit'>;
  readonly redactor: Pick<Redactor, 'cut'>;
  /** Settles what rules have reserved, by its ticket; null: nothing was. Never rejects. */
  readonly settleGrant: (ticket: string | null | undefined, executed: Executed, isSuccess: boolean) => Promise<void>;
  /** Unix milliseconds. */
  readonly time: () => number;
  readonly onApplied: (spec: EffectSpec, effect: Effect, outcome: CallOutcome) => void;
};

/**
 * Puts what was found out of a write into the records of its key and of its pending call, then, once, into the budgets and the journal
 * of its session, and tells its webhook endpoint. What a death of this process leaves undone of the records is done again. Rejects
 * where the store fails.
 */
export const createApply =
  (options: ApplyOptions) =>
  async (key: string, effect: Effect): Promise<void> => {
    const { effects, keys, settlePending, onApplied } = options;
    const outcome = createSettledOutcome(effect);
    const spec = effects.openSpec(key, effect);
    if (outcome === null || spec === null) return;
    const { tenant, handle, places } = spec;
    const kind = findKind(effect, handle);
    const result = renderSettled(spec, outcome);
    if (handle !== null && !(await settlePending(tenant, handle, result))) {
      // Its worker has died, and the one that ends it may have read before this that it is unknown.
      await effects.live.enterAgain(entryOf(key), NOT_ENDED_MS);
      return;
    }
    await Promise.all(places.map((place) => keys.settle(place, result, kind)));
    if (!(await effects.markApplied(key, effect.fence))) return;
    onApplied(spec, effect, outcome);
    // Not before the mark: a further run of the same effect may have reserved anew.
    const happened = outcome.kind === 'success';
    await options.settleGrant(spec.grant, happened ? 'yes' : 'no', happened);
    await Promise.all([settleSession(spec, effect, outcome, options), notify(spec, effect, outcome, options)]);
  };

const NOT_ENDED_MS = 1000;

// A pending call that did not take effect has ended, under its key, too.
const findKind = ({ end }: Effect, handle: string | null): 'final' | 'repeatable' =>
  end?.verdict === 'did_not_happen' && handle === null ? 'repeatable' : 'final';

const renderSettled = ({ index, id, name }: EffectSpec, outcome: CallOutcome): string => {
  const warnings = outcome.kind === 'success' ? outcome.warnings : [];
  return renderOutcome(outcome, { index, id, name, durationMs: 0 }, warnings, NO_NOTES).json;
};

type Ended = Pick<ApplyOptions, 'sessions' | 'redactor' | 'time'>;

const MAX_LATE_MESSAGE = 500;

const settleSession = async (
  spec: EffectSpec,
  { failure }: Effect,
  outcome: CallOutcome,
  { sessions, redactor, time }: Ended,
): Promise<void> => {
  const { sessionKey, ticket, batchId, tool, retries } = spec;
  if (sessionKey === null || ticket === null) return;
  const requested = { name: tool, retries, maxCalls: null, effects: 'write', polling: true } as const;
  const admission = sessions.resume({ sessionKey, batchId, tool: requested, ticket });
  const end = describeEnd(outcome);
  // What was charged as a failure and was none is given back.
  if (outcome.kind === 'success' && failure?.isCharged === true)
    await admission.settle({ outcomes: [{ ...GIVEN_BACK, name: tool }], calls: [], journal: null });
  const message = redactor.cut(end.message, MAX_LATE_MESSAGE, 'journal');
  const requestId = redactor.cut(spec.requestId, MAX_REQUEST_ID, 'journal');
  const late = { ...end, message, time: new Date(time()).toISOString() };
  await admission.addLate(toLateLine({ requestId, index: spec.index }, late));
};

const GIVEN_BACK = { failed: false, succeeded: true, interrupted: false, error: '', refunds: true } as const;

const describeEnd = (outcome: CallOutcome) => {
  if (outcome.kind === 'success')
    return { outcome: 'success', executed: outcome.executed, code: null, message: outcome.message } as const;
  const { executed, code, message } = outcome.failure;
  return { outcome: outcome.failure.outcome, executed, code, message } as const;
};

const notify = async (
  spec: EffectSpec,
  { fence }: Effect,
  outcome: CallOutcome,
  { webhooks }: Pick<ApplyOptions, 'webhooks'>,
): Promise<void> => {
  const { notify: endpoint, tenant, requestId, index, tool, handle, id, effectId } = spec;
  if (endpoint === null) return;
  const { outcome: ended, executed, code } = describeEnd(outcome);
  const call = handle === null ? {} : { call: handle };
  const data = { request_id: requestId, index, ...call, call_id: cutId(id), tool, outcome: ended, executed, code };
  await webhooks.emit({ tenant, endpoint, type: 'tool_call.reconciled', data, once: `${effectId} ${fence}` });
};

// What a receiver gets of an id: one may have 16 KiB.
const MAX_CALL_ID = 512;
const cutId = (id: EffectSpec['id']): EffectSpec['id'] =>
  typeof id === 'string' ? id.slice(0, MAX_CALL_ID).toWellFormed() : id;
