import type { DryRun, Warning } from '../contract/tool-result.ts';
import { previewCall } from './accept-call.ts';
import { forecastAdmission } from './admit.ts';
import { toBodyDigest, toCallDigest } from './body-digest.ts';
import { type Batch, type Call, fingerprintOf, isReady, type ReadyCall, readArguments } from './call.ts';
import { findKeyed, type KeyedCall } from './call-ids.ts';
import { type CallOutcome, toFailure } from './call-outcome.ts';
import { renderChecked } from './checked-result.ts';
import { prepareCall, toCallToDecide } from './decide-calls.ts';
import { decideEarlier } from './earlier-try.ts';
import * as text from './failure-text.ts';
import type { EarlierCall, KeyLook } from './idempotency-store.ts';
import { findReason } from './obstacles.ts';
import type { CallForecast } from './policies.ts';
import { DUPLICATE_ID_WARNING } from './read-calls.ts';
import { AWAY, untilDeadline } from './record-lease.ts';
import { redactOutcome } from './redact-outcome.ts';

// What the calls of a batch would do now: every step up to the handler. Each step looks at what the step of a real batch would
// change, and changes nothing: no record is opened, no round let in, no circuit probed, nothing reserved, logged or announced.

/** Looks at the calls of a batch that have been read, and answers it with what each would do. */
export const dryRunCalls = async (batch: Batch): Promise<void> => {
  await lookAtRecords(batch);
  if (batch.answer !== null) return;
  await Promise.all(batch.calls.map(lookAtPending));
  // What may only go on after its request is looked at as a call whose caller lets it.
  batch.async = NOBODY_WAITS;
  await forecastAdmission(batch);
  await Promise.all(batch.calls.map(checkCall));
  const forecasts = await forecastPolicies(batch);
  if (batch.request.order === 'sequential') stopBehind(batch.calls, forecasts);
  const previews = await previewCalls(batch);
  answer(batch, forecasts, previews);
};

const NOBODY_WAITS = { waitMs: 0, notify: null } as const;

const UNAVAILABLE = { kind: 'unavailable' } as const;

/** 1 what is on record under the Idempotency-Key, or under the ids of the calls. */
const lookAtRecords = async (batch: Batch): Promise<void> => {
  const { request, services, calls } = batch;
  const { idempotency, callKeyOf = null } = request;
  if (idempotency !== null) {
    const keyed = { recordKey: idempotency.recordKey, body: toBodyDigest(batch), calls: calls.length };
    await applyLook(batch, await untilDeadline(batch, services.keys.look(keyed), UNAVAILABLE));
  }
  if (callKeyOf !== null) await Promise.all(findKeyed(calls, callKeyOf).map(lookAtCallRecord));
};

const applyLook = async (batch: Batch, look: KeyLook): Promise<void> => {
  if (look.kind === 'in_flight' || look.kind === 'other_body') batch.answer = look;
  else if (look.kind === 'unavailable') batch.record = AWAY;
  else if (look.kind === 'complete')
    for (const [index, result] of look.results.entries())
      applyEarlier(batch.calls[index], { state: 'committed', result });
  else await applyEarlierCalls(batch.calls, look);
};

const applyEarlierCalls = async (
  calls: readonly Call[],
  { earlier, mayBePending }: Extract<KeyLook, { kind: 'open' }>,
): Promise<void> => {
  await Promise.all(
    calls.map(async (call) => {
      const own = earlier.get(call.index);
      if (mayBePending && own?.state !== 'committed' && (await wasAccepted(call))) call.state = ANSWERED_ELSEWHERE;
      else applyEarlier(call, own);
    }),
  );
};

const wasAccepted = ({ batch, recordKey, index }: Call): Promise<boolean> => {
  const { services, request } = batch;
  const key = recordKey ?? request.idempotency?.recordKey ?? '';
  return services.pending.hasAccepted(request.tenant, { recordKey: key, place: recordKey === null ? index : 0 });
};

/** What an earlier try left answers the call, unless its caller may not see that. */
const applyEarlier = (call: Call | undefined, earlier: EarlierCall | undefined): void => {
  if (call === undefined || earlier === undefined || call.original !== null) return;
  const state = decideEarlier(call, earlier, call.batch.request.mayUse);
  if (state === null) return;
  if (state.kind === 'failure') call.end(state);
  else if (state.result === null) call.end(state.outcome);
  else call.state = state;
};

const ANSWERED: CallOutcome = {
  ...{ kind: 'success', valueJson: 'null', message: '', executed: 'no' },
  ...{ marks: [], warnings: [] },
};
const ANSWERED_ELSEWHERE: Call['state'] = { kind: 'replayed', outcome: ANSWERED, result: '' };

const lookAtCallRecord = async (call: KeyedCall): Promise<void> => {
  const { batch, recordKey, tool, name } = call;
  const keyed = { recordKey, body: toCallDigest(call), calls: 1 };
  const look = await untilDeadline(batch, batch.services.keys.look(keyed), UNAVAILABLE);
  if (look.kind === 'unavailable')
    call.fail(toFailure('store_unavailable', text.IDEMPOTENCY_STORE_UNAVAILABLE_TEXT, tool));
  else if (look.kind === 'other_body') call.fail(toFailure('invalid_call', text.reusedIdText(name ?? ''), tool));
  // It would wait for the request that runs it.
  else if (look.kind === 'in_flight') call.state = ANSWERED_ELSEWHERE;
  else if (look.kind === 'complete') applyEarlier(call, { state: 'committed', result: look.results[0] ?? '' });
  else if (look.mayBePending && look.earlier.get(0)?.state !== 'committed' && (await wasAccepted(call)))
    call.state = ANSWERED_ELSEWHERE;
  else applyEarlier(call, look.earlier.get(0));
};

/** 2 the call that is pending in the session already, and would be joined. */
const lookAtPending = async (call: Call): Promise<void> => {
  const { sessionKey } = call.batch.request;
  if (sessionKey === null || !isReady(call) || call.state.kind !== 'open' || call.original !== null) return;
  const { services, record } = call.batch;
  const mayWait = call.tool.background !== 'never' || services.policies.mayAsk(call.tool);
  if (!mayWait || record?.state === 'away' || !readArguments(call).ok) return;
  if ((await services.pending.find(sessionKey, fingerprintOf(call))) !== null) call.state = ANSWERED_ELSEWHERE;
};

/** 4 what keeps the call from beginning, then its arguments, by the tool's own check; fills in defaults. */
const checkCall = async (call: Call): Promise<void> => {
  if (call.original !== null || (call.state.kind !== 'open' && call.state.kind !== 'obstructed')) return;
  const reason = findReason(call, call.batch.services.now());
  if (reason !== null) call.fail(reason);
  if (reason !== null || !isReady(call)) return;
  const parsed = readArguments(call);
  if (parsed.ok) await prepareCall(call);
  else call.fail(parsed.failure);
};

type Forecasts = ReadonlyMap<Call, CallForecast>;

/** 5 rules and approvals, of the calls that could begin, in their order. */
const forecastPolicies = async ({ calls, services }: Batch): Promise<Forecasts> => {
  const open = calls.filter(isOpen);
  if (open.length === 0) return new Map();
  const forecasts = await services.policies.forecast(open.map(toCallToDecide));
  const byCall = new Map<Call, CallForecast>();
  for (const [place, call] of open.entries()) {
    const forecast = forecasts[place];
    if (forecast === undefined) throw new Error('Policies gave no forecast of a call.');
    byCall.set(call, forecast);
    if (forecast.failure !== null) call.fail(forecast.failure);
  }
  return byCall;
};

const isOpen = (call: Call): call is ReadyCall => isReady(call) && call.state.kind === 'open' && call.original === null;

/** In a sequential batch a call that would wait, or fail where the batch stops at failures, keeps those behind it from running. */
const stopBehind = (calls: readonly Call[], forecasts: Forecasts): void => {
  let stop: string | null = null;
  for (const call of calls) {
    if (call.original !== null) continue;
    if (stop === null) stop = explainStop(call, forecasts.get(call));
    else if (call.state.kind !== 'replayed') call.fail(toFailure('not_executed', stop, call.tool));
  }
};

const explainStop = ({ name, outcome, batch }: Call, forecast: CallForecast | undefined): string | null => {
  const shown = name ?? 'an unnamed call';
  if (outcome?.kind === 'failure') return batch.request.onError === 'stop' ? text.notExecutedText(shown) : null;
  return outcome === null && forecast?.would === 'ask' ? text.notExecutedPendingText(shown) : null;
};

type Preview = { readonly outcome: CallOutcome; readonly durationMs: number };
type Previews = ReadonlyMap<Call, Preview>;

/** 6 what tools say of the calls that are left, as many at once as a batch may run. */
const previewCalls = async ({ calls, services }: Batch): Promise<Previews> => {
  const previews = new Map<Call, Preview>();
  const left = calls.filter((call): call is ReadyCall => isOpen(call) && call.tool.previews);
  const previewNext = async (): Promise<void> => {
    for (let call = left.shift(); call !== undefined; call = left.shift()) {
      const from = services.now();
      const outcome = await previewCall(call);
      previews.set(call, { outcome, durationMs: services.now() - from });
    }
  };
  await Promise.all(Array.from({ length: Math.min(left.length, services.batchConcurrency) }, previewNext));
  return previews;
};

const answer = (batch: Batch, forecasts: Forecasts, previews: Previews): void => {
  const results = batch.calls.map((call) => {
    const of = call.original ?? call;
    const { outcome, warnings } = toShown(of, previews.get(of));
    const dryRun = describe(of, forecasts.get(of), outcome);
    batch.services.observer.callChecked(call.budgetKey, dryRun.would);
    const { index, id, name } = call;
    const own = call.sharesId ? [DUPLICATE_ID_WARNING, ...warnings] : warnings;
    return renderChecked({
      ...{ index, id, name, outcome, dryRun, warnings: own },
      durationMs: previews.get(of)?.durationMs ?? 0,
    });
  });
  batch.answer = { kind: 'results', results, origin: 'run' };
};

type Shown = { readonly outcome: CallOutcome | null; readonly warnings: readonly Warning[] };

/** The failure that it would have, or what its preview says, bounded and without secrets. */
const toShown = (call: Call, preview: Preview | undefined): Shown => {
  const { outcome, state } = call;
  if (outcome?.kind === 'failure' && state.kind !== 'replayed') return redact(outcome, call);
  if (preview === undefined) return NOTHING;
  const said = redact(preview.outcome, call);
  if (said.outcome?.kind !== 'failure') return said;
  return {
    outcome: null,
    warnings: [{ code: 'preview_failed', message: `The preview failed. ${said.outcome.failure.message}` }],
  };
};

const NOTHING: Shown = { outcome: null, warnings: [] };

const redact = (outcome: CallOutcome, call: Call): Shown => {
  let fitted = outcome;
  // As of a write, whose outcome stays what it is where its value has no room.
  call.batch.size.fit({
    ...{ index: call.index, outcome, storedResult: null },
    tool: call.tool === null ? null : { ...call.tool, effects: 'write' },
    end: (cut) => {
      fitted = cut;
    },
  });
  const redacted = redactOutcome(fitted, call);
  const shown = redacted.forCaller ?? redacted;
  return { outcome: shown, warnings: shown.kind === 'success' ? shown.warnings : [] };
};

const describe = (call: Call, forecast: CallForecast | undefined, shown: CallOutcome | null): DryRun => ({
  depth: shown?.kind === 'success' ? 'previewed' : 'checked',
  would: findVerdict(call, forecast),
  digest: forecast === undefined || forecast.digest === '' ? null : forecast.digest,
  rules: [...(forecast?.rules ?? [])],
});

const findVerdict = ({ state, outcome }: Call, forecast: CallForecast | undefined): DryRun['would'] => {
  if (state.kind === 'replayed') return 'replay';
  if (outcome?.kind === 'failure') return outcome.failure.outcome === 'retry' ? 'retry' : 'refuse';
  return forecast?.would ?? 'run';
};
