import { FAILURE_POLICY } from '../contract/failure.ts';
import type { RetryState, Warning } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import { cutText } from '../tools/describe-value.ts';
import type { Call } from './call.ts';
import type { FailureOutcome, SuccessOutcome } from './call-outcome.ts';
import type { Failure } from './failure.ts';
import { budgetSuffix, MAX_MESSAGE_LENGTH } from './failure-text.ts';
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

export const renderFailure = (
  end: FailureOutcome,
  parts: RenderedParts & { readonly retry: RetryState | null; readonly reference: string; readonly suffix: string },
): string => {
  const { failure } = end;
  const error = {
    code: failure.code,
    type: failure.type,
    hint: failure.hint,
    issues: failure.issues,
    retry_after_ms: failure.retryAfterMs,
    fatal: failure.fatal,
    reference: parts.reference,
  };
  const message = toMessage(failure, parts.suffix);
  return `${renderHead(parts.call)}"success":false,"outcome":"${failure.outcome}","executed":"${failure.executed}","value":${
    end.valueJson
  },"message":${JSON.stringify(message)},"error":${JSON.stringify(error)},"retry":${JSON.stringify(parts.retry)},${renderTail(parts)}`;
};

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

/** What the model reads: never empty, within 2 000 characters, the budget's word last. */
const toMessage = (failure: Failure, suffix: string): string =>
  `${cutText(failure.message, MAX_MESSAGE_LENGTH - suffix.length)}${suffix}`;

/**
 * The budget's word on a failure: only where trying again is on the table and the failure was charged. Of what may have
 * taken effect it says when no retries are left, and never that one is: that would ask for it twice.
 */
export const toSuffix = (failure: Failure, name: string | null, budget: Budget | undefined): string => {
  const charges = FAILURE_POLICY[failure.code].charges !== false && !failure.fatal;
  if (budget === undefined || !charges || failure.outcome === 'failed') return '';
  return failure.outcome === 'unknown' && budget.remaining > 0 ? '' : budgetSuffix(name, budget);
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
