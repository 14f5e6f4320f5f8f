import type { LateResult } from '../contract/session.ts';
import { renderLate } from './answer-batch.ts';
import type { Answer, AnswerTerms } from './answered-batch.ts';
import type { CallEnd } from './call-end.ts';
import type { KeyedRun } from './idempotency/keyed-run.ts';
import { MAX_REQUEST_ID } from './journal/journal-line.ts';
import { toLateLine } from './journal/journal-lines.ts';
import { redactEnd } from './redaction/redact-end.ts';
import type { Admission } from './session-store.ts';

export type LateTerms = Pick<
  AnswerTerms,
  'now' | 'time' | 'journal' | 'open' | 'observer' | 'redactor' | 'maxResultBytes'
> & {
  readonly requestId: string;
  readonly startedAt: number;
  readonly admission: Admission | null;
  readonly keyed: KeyedRun | null;
};

/**
 * Writes down what handlers come to after their calls were answered: into the session's journal, and over the kept
 * result of a batch that may be asked for again. Never touches a budget, and never rejects.
 */
export const watchLate = (answers: readonly Answer[], terms: LateTerms): void => {
  for (const answer of answers) {
    if (answer.ran.late === null) continue;
    void answer.ran.late.then((end) => (end === null ? undefined : writeLate(answer, end, terms)));
  }
};

const writeLate = async (answer: Answer, end: CallEnd, terms: LateTerms): Promise<void> => {
  terms.open.begin();
  try {
    await writeBoth(answer, end, terms);
  } catch (error) {
    terms.observer.contractViolated(error, terms.requestId);
  } finally {
    terms.open.end();
  }
};

const writeBoth = async (answer: Answer, ended: CallEnd, terms: LateTerms): Promise<void> => {
  const { admission, keyed } = terms;
  const end = redactEnd(ended, answer.call, terms);
  const { index } = answer.call;
  const line = toLateLine(
    { requestId: terms.redactor.cut(terms.requestId, MAX_REQUEST_ID, 'journal'), index },
    toLateResult(end, terms),
  );
  const isWritten = admission !== null && admission.scope === 'session' && terms.journal > 0;
  await Promise.all([
    isWritten ? admission.addLate(line) : undefined,
    saysMore(end, answer.ran.end)
      ? keyed?.amend(index, renderLate(answer, end, terms.now() - terms.startedAt))
      : undefined,
  ]);
};

/**
 * Whether a late end tells a repeat more than the kept one: any does where nobody knew, else only a success. A safe
 * handler that ends because its time is over only says so in other words.
 */
const saysMore = (late: CallEnd, kept: CallEnd): boolean =>
  late.kind === 'success' || (kept.kind === 'failure' && kept.failure.outcome === 'unknown');

const MAX_MESSAGE = 500;

const toLateResult = (end: CallEnd, { redactor, time }: LateTerms): LateResult => {
  const { outcome, executed, message, code } =
    end.kind === 'success' ? { ...end, outcome: 'success' as const, code: null } : end.failure;
  return {
    time: new Date(time()).toISOString(),
    outcome,
    executed,
    code,
    message: redactor.cut(message, MAX_MESSAGE, 'journal'),
  };
};
