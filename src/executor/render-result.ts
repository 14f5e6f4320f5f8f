import { FAILURE_POLICY } from '../contract/failure.ts';
import type { RetryState, Warning } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import type { Call } from './call.ts';
import type { FailureOutcome, SuccessOutcome } from './call-outcome.ts';
import type { Failure } from './failure.ts';
import { type Suffix, toMessage } from './failure-message.ts';
import type { Admission, Budget } from './session-store.ts';

type CallHead = Pick<Call, 'index' | 'id' | 'name'>;

export type RenderedParts = {
  readonly call: CallHead;
  readonly durationMs: number;
  readonly marks: readonly ('empty' | 'truncated' | 'replayed')[];
  readonly warnings: readonly Warning[];
};

/** A result as JSON text. Assembled by hand: the value is JSON already, and a schema serialiser costs a third of the throughput. */
export const renderSuccess = (end: SuccessOutcome, parts: RenderedParts): string =>
  `${renderHead(parts.call)}"success":true,"outcome":"success","executed":"${end.executed}","value":${end.valueJson},"message":${
    end.message === '' ? '""' : JSON.stringify(end.message)
  },"error":null,"retry":null,${renderTail(parts)}`;

/** What is said of a failure beside the failure itself: of the log, and of the budget. */
export type FailureNotes = { readonly reference: string; readonly suffix: Suffix; readonly retry: RetryState | null };

export const renderFailure = (end: FailureOutcome, parts: RenderedParts, notes: FailureNotes): string =>
  `${renderHead(parts.call)}${renderProblem(end, notes)}${renderRetry(notes.retry)},${renderTail(parts)}`;

type Problem = {
  readonly end: FailureOutcome;
  readonly reference: string;
  readonly suffix: string;
  readonly text: string;
};

// Calls of a batch that failed alike share their outcome: what they have in common is written once.
let lastProblem: Problem | null = null;

const renderProblem = (end: FailureOutcome, { reference, suffix }: FailureNotes): string => {
  const last = lastProblem;
  if (last !== null && last.end === end && last.reference === reference && last.suffix === suffix.text)
    return last.text;
  const { failure, valueJson } = end;
  const text = `"success":false,"outcome":"${failure.outcome}","executed":"${failure.executed}","value":${
    valueJson
  },"message":${JSON.stringify(toMessage(failure, suffix))},"error":${renderError(failure, reference, suffix)},"retry":`;
  // What was thrown may hold a request, or a connection.
  if (failure.thrown === undefined && text.length <= MAX_SHARED)
    lastProblem = { end, reference, suffix: suffix.text, text };
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

const renderHead = ({ index, id, name }: CallHead): string =>
  `{"index":${index},"id":${typeof id === 'string' ? toJsonString(id) : id},"name":${name === null ? 'null' : toJsonString(name)},`;

const renderTail = ({ durationMs, marks, warnings }: RenderedParts): string => {
  const duration = `"duration_ms":${toHundredths(durationMs)}`;
  if (marks.length === 0 && warnings.length === 0) return `${duration}}`;
  const more = marks.map((mark) => `,"${mark}":true`).join('');
  return `${duration}${more}${warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`}}`;
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
