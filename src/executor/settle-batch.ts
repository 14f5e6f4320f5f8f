import type { AnsweredCall, AnswerTerms, RanBatch } from './answered-batch.ts';
import type { BatchArguments } from './batch-arguments.ts';
import type { ToolInvoked } from './call-observer.ts';
import { toHiding } from './journal/arguments-preview.ts';
import type { AskedEntry } from './journal/asked-entry.ts';
import type { JournalCall, JournalEnd } from './journal/journal-line.ts';
import {
  createRoundJournal,
  PLAIN_SUCCESS,
  type SettlingBatch,
  type SettlingJournal,
} from './journal/round-journal.ts';
import type { ResolvedCall } from './resolve-call.ts';
import { toRoundOutcomes } from './round-outcomes.ts';
import type { Admission, Budget, RoundReport } from './session-store.ts';
import { toSettledCall } from './settled-call.ts';

/**
 * 8 settles a batch in the store that admitted it. Null where the answer need not wait: first attempts that all
 * succeeded, with no repeated failure standing, change no budget, and what they add to streaks and journal may be late.
 */
export const settleBatch = (
  done: RanBatch,
  answered: readonly AnsweredCall[],
  terms: AnswerTerms,
): Promise<ReadonlyMap<string, Budget>> | null => {
  const { admission, batch } = done;
  if (admission === null) return null;
  const isClean = answered.every(({ ran }) => ran.end.kind === 'success') && isUntroubled(admission);
  // Without a session nothing outlives the batch.
  if (isClean && batch.sessionKey === null) return null;
  const settling = settle(admission, toReport(done, admission, answered, terms), (error) =>
    terms.observer.contractViolated(error, batch.requestId),
  );
  if (!isClean) return settling;
  terms.open.begin();
  void settling.then(terms.open.end);
  return null;
};

type SettlingReport = RoundReport & { readonly journal: SettlingJournal | null };

const settle = async (
  admission: Admission,
  report: SettlingReport,
  onError: (error: unknown) => void,
): Promise<ReadonlyMap<string, Budget>> => {
  try {
    // A store that shares its journal renders it before it waits.
    const settling = admission.settle(report);
    report.journal?.release();
    return await settling;
  } catch (error) {
    onError(error);
    return NO_BUDGETS;
  }
};

const NO_BUDGETS: ReadonlyMap<string, Budget> = new Map();

/** No retry, nothing refused, and no call that failed the last time it was made. */
const isUntroubled = ({ permits, verdicts }: Admission): boolean => {
  for (const { decision } of permits.values()) if (decision !== 'free') return false;
  return verdicts.every((verdict) => verdict.kind === 'run' && (verdict.streak?.failed ?? 0) === 0);
};

const toReport = (
  done: RanBatch,
  { step }: Admission,
  answered: readonly AnsweredCall[],
  terms: AnswerTerms,
): SettlingReport => {
  const { asked, batch, given } = done;
  const own = answered.filter(({ origin, ran }) => origin === 'own' && ran.kept === undefined);
  const ends = new Map(own.map(({ call, ran }) => [call.index, ran.end]));
  const settled = asked.flatMap((call) => {
    const end = ends.get(call.index);
    return end === undefined ? [] : [{ call, end }];
  });
  const outcomes = toRoundOutcomes(settled, terms.redactor);
  if (batch.sessionKey === null) return { outcomes, calls: [], journal: null };
  const written = terms.journal === 0 ? [] : answered.filter(({ ran }) => ran.kept === undefined).slice(-terms.journal);
  return {
    outcomes,
    calls: settled.map(({ call, end }) => toSettledCall(call, end, given)),
    journal: written.length === 0 ? null : toRoundJournal(done, step, written, terms),
  };
};

const toRoundJournal = (
  { batch, calls, given }: RanBatch,
  step: number,
  written: readonly AnsweredCall[],
  { redactor, time }: AnswerTerms,
): SettlingJournal =>
  createRoundJournal({
    step,
    time: time(),
    requestId: batch.requestId,
    body: batch.form === 'calls' ? batch.source : null,
    settling: toSettlingBatch(calls, given),
    calls: written.map((one) => toJournalCall(one, given)),
    redactor,
  });

const NOTHING_ASKED: AskedEntry = { id: null, name: null, given: undefined };

const toSettlingBatch = (calls: readonly ResolvedCall[], given: BatchArguments): SettlingBatch => ({
  size: calls.length,
  entryOf: (index) => {
    const call = calls[index];
    if (call === undefined) return NOTHING_ASKED;
    return { id: call.id, name: call.name, given: call.kind === 'ready' ? call.given : undefined };
  },
  argumentsOf: (index) => {
    const call = calls[index];
    return call?.kind === 'ready' ? { text: given.textOf(call), fingerprint: given.fingerprintOf(call) } : null;
  },
});

const toJournalCall = ({ call, event }: AnsweredCall, given: BatchArguments): JournalCall => ({
  index: call.index,
  kind: call.kind,
  tool: call.kind === 'refused' && call.tool === null ? null : event.tool,
  readable: call.kind === 'ready' && given.read(call).ok,
  hiding: call.kind === 'ready' ? toHiding(call.tool.inputSchema) : null,
  end: toJournalEnd(event),
  durationMs: event.durationMs,
});

// Without the value, which may be large.
const toJournalEnd = ({ success, outcome, executed, code, fault, message, replayed }: ToolInvoked): JournalEnd =>
  success && outcome === 'success' && executed === 'yes' && message === '' && !replayed
    ? PLAIN_SUCCESS
    : { success, outcome, executed, code, fault, message, replayed };
