import { FAILURE_POLICY } from '../contract/failure.ts';
import type { RenderedResult, RetryState, Warning } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import { cutText } from '../tools/describe-value.ts';
import type { Call } from './call.ts';
import type { CallOutcome, Failure, FailureOutcome, SuccessOutcome } from './call-outcome.ts';
import { NO_SUFFIX, type Suffix, toMessage } from './failure-text.ts';
import type { Admission, Budget } from './session-store.ts';

/** What frames an outcome in its result. */
type RenderedCall = Pick<Call, 'index' | 'id' | 'name' | 'durationMs'> &
  Partial<Pick<Call, 'state' | 'effectId' | 'ruling'>>;
type Warnings = readonly Warning[];

/** What is said of a failure beside the failure itself: of the log, and of the budget. */
type FailureNotes = { readonly reference: string; readonly suffix: Suffix; readonly retry: RetryState | null };
export const NO_NOTES: FailureNotes = { reference: '', suffix: NO_SUFFIX, retry: null };

/** The result of a call that has ended, as JSON text of which no more is known. */
export const toEndedResult = (json: string): RenderedResult => ({ json, handle: null, plainValueJson: null });

/** The text is assembled by hand: the value is JSON already, and a schema serialiser costs a third of the throughput. */
const renderSuccess = (outcome: SuccessOutcome, call: RenderedCall, warnings: Warnings): RenderedResult => {
  const { executed, valueJson, message, marks, reconciled } = outcome;
  const isPlain =
    executed === 'yes' && message === '' && marks.length === 0 && warnings.length === 0 && toEdit(call) === null;
  if (isPlain && reconciled === undefined && !isCopy(call))
    return { json: renderPlain(valueJson, call), handle: null, plainValueJson: valueJson };
  return toEndedResult(
    `${renderHead(call)}"success":true,"outcome":"success","executed":"${executed}","value":${valueJson},"message":${
      message === '' && toEdit(call) === null ? '""' : JSON.stringify(withEdit(message, call))
    },"error":null,"retry":null,${renderReconciled(outcome)}${renderTail(call, warnings, marks)}`,
  );
};

// What nearly all results say, in as few pieces as can be: each piece is an object until the answer is made flat.
const renderPlain = (valueJson: string, { index, id, name, durationMs }: RenderedCall): string =>
  `${BEGINS[index] ?? beginResult(index)}${typeof id === 'string' ? toJsonString(id) : id}${
    name === lastName ? lastNamed : nameSuccess(name)
  }${valueJson}${PLAIN_TAILS[Math.round(durationMs * 100)] ?? `${PLAIN_TAIL}${toHundredths(durationMs)}}`}`;

const beginResult = (index: number): string => {
  const begin = joinFlat('{"index":', index, ',"id":');
  BEGINS[index] = begin;
  return begin;
};

// A template would stay a tree of its pieces, which every result would walk.
const joinFlat = (...pieces: readonly unknown[]): string => pieces.join('');

// Of the name that was written last: calls of a batch, and batches, often name one tool.
let lastName: string | null = null;
let lastNamed = ',"name":null,"success":true,"outcome":"success","executed":"yes","value":';

const nameSuccess = (name: string | null): string => {
  const shown = name === null ? 'null' : toJsonString(name);
  lastName = name;
  lastNamed = joinFlat(',"name":', shown, ',"success":true,"outcome":"success","executed":"yes","value":');
  return lastNamed;
};

/** The result of an outcome. The notes are those of a failure. */
export const renderOutcome = (
  outcome: CallOutcome,
  call: RenderedCall,
  warnings: Warnings,
  notes: FailureNotes,
): RenderedResult =>
  outcome.kind === 'success'
    ? renderSuccess(outcome, call, warnings)
    : toEndedResult(
        `${renderHead(call)}${renderProblem(outcome, call, notes)}${renderRetry(notes.retry)},${renderReconciled(outcome)}${renderTail(call, warnings, NO_MARKS)}`,
      );

const isCopy = ({ state }: RenderedCall): boolean => state?.kind === 'copied';

const toEdit = ({ ruling }: RenderedCall): string | null => ruling?.editedJson ?? null;

const MAX_SHOWN_EDIT = 1000;

/** What a model has to know of a call that was not run as it was sent. */
const withEdit = (message: string, call: RenderedCall): string => {
  const editedJson = toEdit(call);
  if (editedJson === null) return message;
  const shown = cutText(editedJson, MAX_SHOWN_EDIT);
  return `${message}${message === '' ? '' : ' '}A person has changed the arguments of this call before approving it: ${shown}`;
};

const NO_MARKS: readonly never[] = [];

// Calls of a batch that failed alike share their outcome: what they have in common is written once.
let last: {
  readonly outcome: FailureOutcome;
  readonly reference: string;
  readonly suffix: string;
  readonly text: string;
} | null = null;

const renderProblem = (outcome: FailureOutcome, call: RenderedCall, { reference, suffix }: FailureNotes): string => {
  if (toEdit(call) === null && last?.outcome === outcome && last.reference === reference && last.suffix === suffix.text)
    return last.text;
  const { failure, valueJson } = outcome;
  const ownEffect = failure.executed === 'maybe' ? (call.effectId ?? null) : null;
  const text = `"success":false,"outcome":"${failure.outcome}","executed":"${failure.executed}","value":${
    valueJson
  },"message":${JSON.stringify(withEdit(toMessage(failure, suffix), call))},"error":${renderError(failure, { reference, suffix, effectId: ownEffect })},"retry":`;
  // What was thrown may hold a request, or a connection.
  if (failure.thrown === undefined && ownEffect === null && toEdit(call) === null && text.length <= MAX_SHARED)
    last = { outcome, reference, suffix: suffix.text, text };
  return text;
};

// What the slot above keeps of the memory.
const MAX_SHARED = 10_000;

type ErrorNotes = Pick<FailureNotes, 'reference' | 'suffix'> & { readonly effectId: string | null };

export const renderError = (failure: Failure, { reference, suffix: { replaces }, effectId }: ErrorNotes): string => {
  const { code, type, issues, retryAfterMs, fatal, decision } = failure;
  const hint = replaces === 'advice' ? null : failure.hint;
  const shownType = type === code ? `"${code}"` : JSON.stringify(type);
  return `{"code":"${code}","type":${shownType},"hint":${JSON.stringify(hint)},"issues":${
    issues.length === 0 ? '[]' : JSON.stringify(issues)
  },"retry_after_ms":${JSON.stringify(retryAfterMs)},"fatal":${fatal},"reference":${toJsonString(reference)}${effectId === null ? '' : `,"effect_id":"${effectId}"`}${
    decision === undefined ? '' : `,${JSON.stringify(decision).slice(1, -1)}`
  }}`;
};

const renderRetry = (retry: RetryState | null): string =>
  retry === null
    ? 'null'
    : `{"allowed":${retry.allowed},"limit":${retry.limit},"used":${retry.used},"remaining":${retry.remaining},"limited_by":"${
        retry.limited_by
      }","scope":"${retry.scope}","mode":"${retry.mode}"}`;

const renderReconciled = ({ reconciled }: CallOutcome): string =>
  reconciled === undefined ? '' : `"reconciled":${JSON.stringify(reconciled)},`;

export const renderHead = ({ index, id, name }: RenderedCall): string =>
  `{"index":${index},"id":${typeof id === 'string' ? toJsonString(id) : id},"name":${name === null ? 'null' : toJsonString(name)},`;

const renderTail = (call: RenderedCall, warnings: Warnings, marks: SuccessOutcome['marks']): string => {
  const duration = `"duration_ms":${toHundredths(call.durationMs)}`;
  const replayed = isCopy(call) ? ',"replayed":true' : '';
  const editedJson = toEdit(call);
  const edited = editedJson === null ? '' : `,"arguments_edited":${editedJson}`;
  if (marks.length === 0 && warnings.length === 0 && replayed === '') return `${duration}${edited}}`;
  const shown = marks.map((mark) => `,"${mark}":true`).join('');
  return `${duration}${edited}${shown}${replayed}${warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`}}`;
};

// Writing a fraction as the shortest text of its digits takes longer than all else of a result: most are one of these.
const SHORT = Array.from({ length: 1000 }, (_, hundredths) => String(hundredths / 100));

// By place in the batch, and by duration.
const BEGINS: string[] = [];
const PLAIN_TAIL = ',"message":"","error":null,"retry":null,"duration_ms":';
const PLAIN_TAILS = SHORT.map((duration) => joinFlat(PLAIN_TAIL, duration, '}'));

export const toHundredths = (ms: number): string => {
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
