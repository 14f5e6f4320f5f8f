import { FAILURE_POLICY } from '../contract/failure.ts';
import {
  type Batch,
  type Call,
  fingerprintOf,
  isReady,
  type ReadyCall,
  readArguments,
  toArgumentsJson,
} from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import {
  type ArgumentsText,
  type BatchEntries,
  type BatchEntry,
  type JournalCall,
  type JournalEnd,
  PLAIN_SUCCESS,
  PlainCalls,
  toHiding,
} from './journal-line.ts';
import type { Redactor } from './redactor.ts';
import { createRoundJournal, type SettlingJournal } from './round-journal.ts';
import type { Admission, Budget, RoundReport, SettledCall, ToolOutcome } from './session-store.ts';

export type Budgets = ReadonlyMap<string, Budget>;

/**
 * 7 settles a batch in the store that admitted it, and keeps the budgets after it. Waits only where the answer must: first
 * attempts that all succeeded, with no repeated failure standing, change no budget, and what they add to streaks and
 * journal may be late.
 */
export const settleBatch = (batch: Batch): Promise<void> | undefined => {
  const { admission, services, request } = batch;
  if (admission === null) return undefined;
  const isClean = isUntroubled(admission) && batch.calls.every(({ outcome }) => outcome?.kind === 'success');
  // Without a session nothing outlives the batch.
  if (isClean && request.sessionKey === null) return undefined;
  const settled = settleSafely(batch, admission);
  if (isClean) {
    if (!(settled instanceof Promise)) return undefined;
    services.open.begin();
    void settled.then(() => services.open.end());
    return undefined;
  }
  if (settled instanceof Promise)
    return settled.then((budgets) => {
      batch.budgets = budgets;
    });
  batch.budgets = settled;
  return undefined;
};

const settleSafely = (batch: Batch, admission: Admission): Budgets | Promise<Budgets> => {
  const violated = (error: unknown): Budgets => {
    batch.services.observer.contractViolated(error, batch.request.requestId);
    return NO_BUDGETS;
  };
  try {
    const report = toReport(batch, admission);
    const settling = admission.settle(report);
    // A store that shares its journal renders it before it waits.
    report.journal?.release();
    return settling instanceof Promise ? settling.catch(violated) : settling;
  } catch (error) {
    return violated(error);
  }
};

const NO_BUDGETS: Budgets = new Map();

/** No retry, nothing refused, and no call that failed the last time it was made. */
const isUntroubled = ({ permits, verdicts }: Admission): boolean => {
  for (const { decision } of permits.values()) if (decision !== 'free') return false;
  return verdicts.every((verdict) => verdict.kind === 'run' && (verdict.streak?.failed ?? 0) === 0);
};

type SettlingReport = RoundReport & { readonly journal: SettlingJournal | null };

const toReport = (batch: Batch, admission: Admission): SettlingReport => {
  const outcomes = toRoundOutcomes(batch);
  const isUnwritten = batch.request.sessionKey === null || batch.request.resumed !== undefined;
  if (isUnwritten) return { outcomes, calls: NO_CALLS, journal: null };
  return { outcomes, calls: batch.asked, journal: toJournal(batch, admission) };
};

const NO_CALLS: readonly SettledCall[] = [];

const toJournal = (batch: Batch, { step }: Admission): SettlingJournal | null => {
  const { request, services } = batch;
  const calls = toPlainCalls(batch) ?? toJournalCalls(batch);
  if (calls.length === 0) return null;
  // The text of a long body is gone.
  const body = request.form === 'calls' && request.body.source !== '' ? request.body.source : null;
  const round = { step, time: services.time(), requestId: request.requestId, body, calls, redactor: services.redactor };
  return createRoundJournal(round, new SettlingEntries(batch.calls));
};

/** All calls of the batch, where each has a line that tells no more than that it went well. */
const toPlainCalls = ({ calls, services }: Batch): PlainCalls | null => {
  if (calls.length > services.journal) return null;
  return calls.every(isPlain) ? new PlainCalls(calls) : null;
};

const isPlain = (call: Call): call is ReadyCall => {
  const { outcome } = call;
  const wentWell = outcome?.kind === 'success' && outcome.executed === 'yes' && outcome.message === '';
  return wentWell && call.state === outcome && isReady(call) && readArguments(call).ok;
};

/** Those that get a line: the last ones, without what an earlier try of the batch has written down. */
const toJournalCalls = ({ calls, services }: Batch): readonly JournalCall[] => {
  const written: JournalCall[] = [];
  for (const call of calls) if (call.storedResult === null || call.isAccepted) written.push(toJournalCall(call));
  return written.length > services.journal ? written.slice(written.length - services.journal) : written;
};

class SettlingEntries implements BatchEntries {
  readonly #calls: readonly Call[];

  constructor(calls: readonly Call[]) {
    this.#calls = calls;
  }

  get size(): number {
    return this.#calls.length;
  }

  entryOf(index: number): BatchEntry {
    const { id = null, name = null, rawArguments } = this.#calls[index] ?? {};
    return { id, name, rawArguments };
  }

  argumentsOf(index: number): ArgumentsText | null {
    const call = this.#calls[index];
    if (call === undefined || !isReady(call)) return null;
    return { text: toArgumentsJson(call), fingerprint: fingerprintOf(call) };
  }
}

const toJournalCall = (call: Call): JournalCall => ({
  index: call.index,
  kind: call.kind,
  tool: call.kind === 'refused' ? (call.tool?.name ?? call.missingTool) : call.budgetKey,
  readable: isReady(call) && readArguments(call).ok,
  hiding: isReady(call) ? toHiding(call.tool.inputSchema) : null,
  end: toJournalEnd(call),
  durationMs: call.durationMs,
});

// What comes of it is written as what is late.
const ACCEPTED: JournalEnd = {
  success: false,
  outcome: 'pending',
  executed: 'maybe',
  code: null,
  fault: null,
  message: '',
  replayed: false,
};
const JOINED: JournalEnd = { ...ACCEPTED, replayed: true };

// Without the value, which may be large.
const toJournalEnd = ({ event, state }: Call): JournalEnd => {
  if (state.kind === 'pending' || state.kind === 'ended') return state.by === 'this_batch' ? ACCEPTED : JOINED;
  if (event === null) return PLAIN_SUCCESS;
  const { success, outcome, executed, code, fault, message, replayed } = event;
  return success && outcome === 'success' && executed === 'yes' && message === '' && !replayed
    ? PLAIN_SUCCESS
    : { success, outcome, executed, code, fault, message, replayed };
};

/** How the round went, tool by tool: several failures of one tool are one mistake, one success beside them is progress. */
const toRoundOutcomes = ({ calls, services }: Batch): readonly ToolOutcome[] => {
  const rounds: RoundOutcome[] = [];
  let round: RoundOutcome | undefined;
  for (const call of calls) {
    if (!isSettled(call)) continue;
    const name = call.budgetKey;
    if (round?.name !== name) {
      round = rounds.find((one) => one.name === name);
      if (round === undefined) {
        round = { name, failed: false, succeeded: false, interrupted: false, error: '' };
        rounds.push(round);
      }
    }
    // A call that goes on settles when it ends: here it is neither, and its retry comes back.
    if (!call.isAccepted) addOutcome(round, call.outcome, services.redactor);
  }
  return rounds;
};

const isSettled = ({ isAsked, outcome, isAccepted }: Call): boolean => isAsked && (outcome !== null || isAccepted);

type RoundOutcome = { -readonly [Key in keyof ToolOutcome]: ToolOutcome[Key] };

const addOutcome = (round: RoundOutcome, outcome: CallOutcome | null, redactor: Redactor): void => {
  if (outcome === null) return;
  if (outcome.kind === 'success') {
    round.succeeded = true;
    return;
  }
  const { code, executed, fatal, message } = outcome.failure;
  if (code === 'cancelled' && executed !== 'no') round.interrupted = true;
  // Whether it counts as a failure of the tool in its session.
  if (fatal || FAILURE_POLICY[code].charges === false) return;
  round.failed = true;
  // Several failures of one round are one mistake: the first speaks for it.
  if (round.error === '') round.error = toLine(message, redactor);
};

const MAX_LINE = 200;
// It is kept, and others of the tenant read it: what the caller sent is redacted here, too.
const toLine = (message: string, redactor: Redactor): string =>
  redactor.cut(message.replace(/[^\S ]\s*| \s+/g, ' '), MAX_LINE, 'journal');
