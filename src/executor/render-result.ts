import { FAILURE_POLICY } from '../contract/failure.ts';
import type { RenderedResult, RetryState, Warning } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import type { Call } from './call.ts';
import type { CallOutcome, Failure, FailureOutcome, SuccessOutcome } from './call-outcome.ts';
import { NO_SUFFIX, type Suffix, toMessage } from './failure-text.ts';
import type { Admission, Budget } from './session-store.ts';

/** What frames an outcome in its result. */
type ResultFrame = {
  readonly call: Pick<Call, 'index' | 'id' | 'name'> & Partial<Pick<Call, 'state'>>;
  readonly durationMs: number;
  readonly warnings: readonly Warning[];
};

/** What is said of a failure beside the failure itself: of the log, and of the budget. */
type FailureNotes = { readonly reference: string; readonly suffix: Suffix; readonly retry: RetryState | null };
export const NO_NOTES: FailureNotes = { reference: '', suffix: NO_SUFFIX, retry: null };

/** The result of a call that has ended, as JSON text of which no more is known. */
export const toEndedResult = (json: string): RenderedResult => ({ json, handle: null, plainValueJson: null });

/** The text is assembled by hand: the value is JSON already, and a schema serialiser costs a third of the throughput. */
const renderSuccess = (outcome: SuccessOutcome, frame: ResultFrame): RenderedResult => {
  const { executed, valueJson, message, marks } = outcome;
  const isBare = message === '' && marks.length === 0 && frame.warnings.length === 0 && !isCopy(frame);
  return {
    json: `${renderHead(frame)}"success":true,"outcome":"success","executed":"${executed}","value":${valueJson},"message":${
      message === '' ? '""' : JSON.stringify(message)
    },"error":null,"retry":null,${renderTail(frame, marks)}`,
    handle: null,
    plainValueJson: isBare && executed === 'yes' ? valueJson : null,
  };
};

/** The result of an outcome. The notes are those of a failure. */
export const renderOutcome = (outcome: CallOutcome, frame: ResultFrame, notes: FailureNotes): RenderedResult =>
  outcome.kind === 'success'
    ? renderSuccess(outcome, frame)
    : toEndedResult(
        `${renderHead(frame)}${renderProblem(outcome, notes)}${renderRetry(notes.retry)},${renderTail(frame, NO_MARKS)}`,
      );

const isCopy = ({ call }: ResultFrame): boolean => call.state?.kind === 'copied';

const NO_MARKS: readonly never[] = [];

// Calls of a batch that failed alike share their outcome: what they have in common is written once.
let last: {
  readonly outcome: FailureOutcome;
  readonly reference: string;
  readonly suffix: string;
  readonly text: string;
} | null = null;

const renderProblem = (outcome: FailureOutcome, { reference, suffix }: FailureNotes): string => {
  if (last?.outcome === outcome && last.reference === reference && last.suffix === suffix.text) return last.text;
  const { failure, valueJson } = outcome;
  const text = `"success":false,"outcome":"${failure.outcome}","executed":"${failure.executed}","value":${
    valueJson
  },"message":${JSON.stringify(toMessage(failure, suffix))},"error":${renderError(failure, reference, suffix)},"retry":`;
  // What was thrown may hold a request, or a connection.
  if (failure.thrown === undefined && text.length <= MAX_SHARED)
    last = { outcome, reference, suffix: suffix.text, text };
  return text;
};

// What the slot above keeps of the memory.
const MAX_SHARED = 10_000;

const renderError = (failure: Failure, reference: string, { replaces }: Suffix): string => {
  const { code, type, issues, retryAfterMs, fatal } = failure;
  const hint = replaces === 'advice' ? null : failure.hint;
  const shownType = type === code ? `"${code}"` : JSON.stringify(type);
  return `{"code":"${code}","type":${shownType},"hint":${JSON.stringify(hint)},"issues":${
    issues.length === 0 ? '[]' : JSON.stringify(issues)
  },"retry_after_ms":${JSON.stringify(retryAfterMs)},"fatal":${fatal},"reference":${toJsonString(reference)}}`;
};

const renderRetry = (retry: RetryState | null): string =>
  retry === null
    ? 'null'
    : `{"allowed":${retry.allowed},"limit":${retry.limit},"used":${retry.used},"remaining":${retry.remaining},"limited_by":"${
        retry.limited_by
      }","scope":"${retry.scope}","mode":"${retry.mode}"}`;

const renderHead = ({ call: { index, id, name } }: ResultFrame): string =>
  `{"index":${index},"id":${typeof id === 'string' ? toJsonString(id) : id},"name":${name === null ? 'null' : toJsonString(name)},`;

const renderTail = (frame: ResultFrame, marks: SuccessOutcome['marks']): string => {
  const { durationMs, warnings } = frame;
  const duration = `"duration_ms":${toHundredths(durationMs)}`;
  const replayed = isCopy(frame) ? ',"replayed":true' : '';
  if (marks.length === 0 && warnings.length === 0 && replayed === '') return `${duration}}`;
  const shown = marks.map((mark) => `,"${mark}":true`).join('');
  return `${duration}${shown}${replayed}${warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`}}`;
};

// Writing a fraction as the shortest text of its digits takes longer than all else of a result: most are one of these.
const SHORT = Array.from({ length: 1000 }, (_, hundredths) => String(hundredths / 100));

const toHundredths = (ms: number): string => {
  const hundredths = Math.round(ms * 100);
  return SHORT[hundredths] ?? String(hundredths / 100);
};

/** The `retry` member: null where no budget was consulted. */
export const toRetryState = (
  failure: Failure,
  budget: Budget | undefined,
  admission: Pick<Admission, 'mode' | 'scope'> | null,
): RetryState | null => {
  const { fault } = FAILURE_POLICY[failure.code];
  if (budget === undefined || admission === null || fault === 'service') return null;
  return {
    allowed: failure.outcome === 'retry' && budget.remaining > 0,
    limit: budget.limit,
    used: budget.used,
    remaining: budget.remaining,
    limited_by: budget.limitedBy,
    scope: admission.scope,
    mode: admission.mode,
  };
};
