import { countOf, isRecord, type JsonRecord, memberOf, numberOf, recordOf, recordsOf, textOf } from './read-json.ts';

export type Issue = {
  readonly path: string;
  readonly expected: string;
  readonly received: string;
  readonly message: string;
};

/** One result of POST /tool-calls, as the page shows it. */
export type CallResult = {
  readonly outcome: string;
  readonly executed: string;
  readonly durationMs: number;
  readonly message: string;
  readonly value: unknown;
  readonly code: string;
  readonly type: string;
  readonly issues: readonly Issue[];
  readonly retryAfterMs: number | null;
  readonly reference: string;
  /** `empty`, `replayed`, `truncated`, `fatal`: those that are set. */
  readonly marks: readonly string[];
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly retry: RetryState | null;
};

export type RetryState = {
  readonly allowed: boolean;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly limitedBy: string;
  readonly scope: string;
  readonly mode: string;
};

export type CallAnswer = { readonly requestId: string; readonly result: CallResult };

/** The body of POST /tool-calls with one call; null where it holds no result. */
export const toCallAnswer = (body: unknown): CallAnswer | null => {
  const answer = recordOf(body);
  const result = recordsOf(memberOf(answer, 'results'))[0];
  if (result === undefined) return null;
  return { requestId: textOf(memberOf(answer, 'request_id')), result: toResult(result) };
};

const toResult = (result: JsonRecord): CallResult => {
  const error = recordOf(memberOf(result, 'error'));
  const fatal = memberOf(error, 'fatal') === true ? ['fatal'] : [];
  return {
    outcome: textOf(memberOf(result, 'outcome')),
    executed: textOf(memberOf(result, 'executed')),
    durationMs: countOf(memberOf(result, 'duration_ms')),
    message: textOf(memberOf(result, 'message')),
    value: memberOf(result, 'value'),
    code: textOf(memberOf(error, 'code')),
    type: textOf(memberOf(error, 'type')),
    issues: recordsOf(memberOf(error, 'issues')).map(toIssue),
    retryAfterMs: numberOf(memberOf(error, 'retry_after_ms')),
    reference: textOf(memberOf(error, 'reference')),
    marks: [...fatal, ...['empty', 'replayed', 'truncated'].filter((mark) => memberOf(result, mark) === true)],
    warnings: recordsOf(memberOf(result, 'warnings')).map((warning) => ({
      code: textOf(memberOf(warning, 'code')),
      message: textOf(memberOf(warning, 'message')),
    })),
    retry: toRetryState(memberOf(result, 'retry')),
  };
};

const toIssue = (issue: JsonRecord): Issue => ({
  path: textOf(memberOf(issue, 'path')),
  expected: textOf(memberOf(issue, 'expected')),
  received: textOf(memberOf(issue, 'received')),
  message: textOf(memberOf(issue, 'message')),
});

const toRetryState = (retry: unknown): RetryState | null =>
  isRecord(retry)
    ? {
        allowed: memberOf(retry, 'allowed') === true,
        limit: countOf(memberOf(retry, 'limit')),
        used: countOf(memberOf(retry, 'used')),
        remaining: countOf(memberOf(retry, 'remaining')),
        limitedBy: textOf(memberOf(retry, 'limited_by')),
        scope: textOf(memberOf(retry, 'scope')),
        mode: textOf(memberOf(retry, 'mode')),
      }
    : null;
