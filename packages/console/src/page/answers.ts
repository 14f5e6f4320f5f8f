import { isRecord, memberOf, membersOf, recordOf, recordsOf, textOf } from './json.ts';

// What the service answers, as the page shows it.

type Refusal = {
  readonly kind: 'refused';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  /** From Retry-After. */
  readonly retryAfterSeconds: number | null;
};

/** What came of a request. `unreachable`: there was no answer at all. `aborted`: nobody waits for it any more. */
export type Answer =
  | { readonly kind: 'done'; readonly text: string; readonly body: unknown }
  | Refusal
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'aborted' };

export type Trouble = Exclude<Answer, { readonly kind: 'done' | 'aborted' }>;

type Explained = { readonly title: string; readonly advice: string };

/** Says why a request was not answered, and what a person can do about it. `origin` is that of the page. */
export const explainTrouble = (trouble: Trouble, key: string, origin: string): Explained => {
  if (trouble.kind === 'unreachable')
    return {
      title: 'The service cannot be reached.',
      advice: 'The service may be down or restarting, or the network may be down. Try again.',
    };
  const explained = explainStatus(trouble, key, origin);
  return explained ?? { title: `The service answered ${trouble.status}.`, advice: trouble.detail };
};

const explainStatus = (refusal: Refusal, key: string, origin: string): Explained | null => {
  switch (refusal.status) {
    case 401:
      return key === ''
        ? { title: 'This service requires an API key.', advice: 'Enter yours at the top of the page.' }
        : {
            title: 'The API key was not accepted.',
            advice: 'It is wrong, expired or removed. Enter another at the top of the page.',
          };
    case 403:
      return explainForbidden(refusal, origin);
    case 429:
      return { title: 'Too many requests for this key.', advice: adviseToWait(refusal) };
    case 503:
      return {
        title: 'The service does not accept requests now.',
        advice: `${refusal.detail} ${adviseToWait(refusal)}`,
      };
    default:
      return null;
  }
};

const explainForbidden = ({ code, detail }: Refusal, origin: string): Explained | null => {
  if (code === 'forbidden_origin')
    return {
      title: 'The service does not accept requests from this page.',
      advice: `Add this page's origin to ALLOWED_ORIGINS: ${origin}`,
    };
  if (code === 'operation_not_allowed')
    return { title: 'This API key does not permit that.', advice: `${detail} Use a key with that permission.` };
  return null;
};

const adviseToWait = ({ retryAfterSeconds }: Refusal): string =>
  retryAfterSeconds === null ? 'Try again later.' : `Try again in ${retryAfterSeconds} s.`;

/** A tool of the catalogue. */
export type ToolDescription = ReturnType<typeof toDescription>;

/** Whether a call needs no question first: only what is known to do no harm twice, and not whatever is not called `write`. */
export const mayRunUnasked = (effects: string): boolean => effects === 'read' || effects === 'idempotent';

/** The body of GET /tools. */
export const toCatalogue = (body: unknown): readonly ToolDescription[] =>
  recordsOf(memberOf(recordOf(body), 'tools')).map(toDescription);

const toDescription = (tool: unknown) => {
  const { any, text, isTrue } = membersOf(tool);
  const { number } = membersOf(any('limits'));
  const output = any('output_schema');
  return {
    name: text('name'),
    description: text('description'),
    effects: text('effects'),
    /** "" for a tool whose calls end within their request. */
    background: text('background'),
    inputSchema: recordOf(any('input_schema')),
    outputSchema: isRecord(output) ? output : null,
    limits: {
      timeoutMs: number('timeout_ms'),
      retries: number('retries'),
      concurrency: number('concurrency'),
      callsPerSession: number('max_calls_per_session'),
    },
    available: isTrue('available'),
    unavailableReason: text('unavailable_reason'),
    outdatedReason: text('outdated_reason'),
    source: text('source'),
  } as const;
};

/** The tools in whose name, description or source every word of the query occurs. */
export const findTools = (tools: readonly ToolDescription[], query: string): readonly ToolDescription[] => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tools;
  return tools.filter(({ name, description, source }) => {
    const text = `${name} ${description} ${source}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
};

export type Issue = ReturnType<typeof toIssue>;
type RetryState = ReturnType<typeof toRetryState>;
/** One result of POST /tool-calls. */
export type CallResult = ReturnType<typeof toResult>;
export type CallAnswer = { readonly requestId: string; readonly result: CallResult };

/** The body of POST /tool-calls with one call; null where it holds no result. */
export const toCallAnswer = (body: unknown): CallAnswer | null => {
  const { any, text } = membersOf(body);
  const result = recordsOf(any('results'))[0];
  return result === undefined ? null : { requestId: text('request_id'), result: toResult(result) };
};

const toResult = (result: unknown) => {
  const { any, text, count, isTrue } = membersOf(result);
  const error = membersOf(any('error'));
  const retry = any('retry');
  const pending = any('pending');
  return {
    outcome: text('outcome'),
    executed: text('executed'),
    durationMs: count('duration_ms'),
    message: text('message'),
    value: any('value'),
    code: error.text('code'),
    type: error.text('type'),
    issues: recordsOf(error.any('issues')).map(toIssue),
    retryAfterMs: error.number('retry_after_ms'),
    reference: error.text('reference'),
    /** `empty`, `replayed`, `truncated`, `fatal`: those that are set. */
    flags: [...(error.isTrue('fatal') ? ['fatal'] : []), ...['empty', 'replayed', 'truncated'].filter(isTrue)],
    warnings: recordsOf(any('warnings')).map((warning) => ({
      code: textOf(memberOf(warning, 'code')),
      message: textOf(memberOf(warning, 'message')),
    })),
    retry: isRecord(retry) ? toRetryState(retry) : null,
    pending: isRecord(pending) ? toPendingState(pending) : null,
  } as const;
};

const toPendingState = (pending: unknown) => {
  const { any, text } = membersOf(pending);
  const progress = membersOf(any('progress'));
  return {
    state: text('state'),
    done: progress.number('done'),
    total: progress.number('total'),
    message: progress.text('message'),
  };
};

const toIssue = (issue: unknown) => {
  const { text } = membersOf(issue);
  return { path: text('path'), expected: text('expected'), received: text('received'), message: text('message') };
};

const toRetryState = (retry: unknown) => {
  const { text, count, isTrue } = membersOf(retry);
  return {
    allowed: isTrue('allowed'),
    limit: count('limit'),
    used: count('used'),
    remaining: count('remaining'),
    limitedBy: text('limited_by'),
    scope: text('scope'),
    mode: text('mode'),
  };
};

/** Whether a failed call may be tried again and what stops it, and what its retry budget has to do with that. */
export type Stop = { readonly verdict: string; readonly budget: string };

// None of these has to do with retries, also where the budget was asked: more of them would not help.
const STOPPED_BY: ReadonlyMap<string, string> = new Map([
  ['loop_detected', 'Stopped by the loop guard: the same call was repeated.'],
  ['circuit_open', 'Stopped by the circuit breaker: the tool is temporarily disabled after repeated failures.'],
  ['call_limit_exceeded', 'Stopped by a call limit: the message names it.'],
  ['not_authorized', 'Stopped by the API key: it may not use this tool.'],
]);

// Retries are left, and all the same no other try is allowed: the outcome says why.
const ENDED_AS: ReadonlyMap<string, string> = new Map([
  ['failed', 'Do not repeat it: it would fail again.'],
  ['unknown', 'Check before another attempt: it may have taken effect.'],
  ['refused', 'Not executed: the message says why.'],
]);

/** Names what stops a failed call: its retry budget, or what is not one. Null where there is nothing to say. */
export const explainStop = ({ code, outcome, retry }: CallResult): Stop | null => {
  const stopped = STOPPED_BY.get(code);
  if (retry === null) return stopped === undefined ? null : { verdict: stopped, budget: '' };
  const verdict = stopped ?? (isSpent(code, retry) ? undefined : ENDED_AS.get(outcome));
  if (verdict !== undefined)
    return { verdict, budget: `Not stopped by the retry budget: ${countsOf(retry)}, ${keptWhere(retry)}.` };
  return {
    verdict: `${retry.allowed ? 'Another attempt is allowed' : 'No further attempt is allowed'}: ${countsOf(retry)}.`,
    budget: `Limited by the ${retry.limitedBy}, ${keptWhere(retry)}.`,
  };
};

const isSpent = (code: string, { remaining }: RetryState): boolean =>
  remaining === 0 || code === 'retry_budget_exhausted';

const countsOf = ({ used, limit, remaining }: RetryState): string =>
  `${used} of ${limit} retries used, ${remaining} remaining`;

const keptWhere = ({ scope, mode }: RetryState): string => `stored per ${scope} in ${mode}`;

/** GET /sessions/{id}; its journal newest first. */
export type Session = ReturnType<typeof toSession>;
export type SessionTool = ReturnType<typeof toSessionTool>;
export type SessionCall = ReturnType<typeof toSessionCall>;
export type LateResult = ReturnType<typeof toEnd>;

/** The body of GET /sessions/{id}. */
export const toSession = (body: unknown) => {
  const { any } = membersOf(body);
  const { text, count, number } = membersOf(any('session'));
  return {
    mode: text('mode'),
    /** Since when this replica has counted by itself; "" where the session is the stored one. */
    localSince: text('mode') === 'local' ? text('since') : '',
    rounds: count('rounds'),
    maxRounds: number('max_rounds'),
    calls: count('calls'),
    maxCalls: number('max_calls'),
    retriesUsed: count('retries_used'),
    retriesLimit: count('retries_limit'),
    tools: recordsOf(any('tools')).map(toSessionTool),
    slices: Object.entries(recordOf(any('slices'))),
    sliceErrors: Object.entries(recordOf(any('slice_errors'))).map(([name, why]) => [name, textOf(why)] as const),
    journal: recordsOf(any('calls')).map(toSessionCall).toReversed(),
  } as const;
};

const toSessionTool = (tool: unknown) => {
  const { any, text, count, number, isTrue } = membersOf(tool);
  const streak = membersOf(any('streak'));
  return {
    name: text('name'),
    failing: isTrue('failing'),
    exhausted: isTrue('exhausted'),
    used: count('used'),
    running: count('running'),
    limit: count('limit'),
    lastError: text('last_error'),
    failedStreak: streak.count('failed'),
    sameAnswerStreak: streak.count('same_answer'),
    calls: number('calls'),
    maxCalls: number('max_calls'),
  };
};

const toSessionCall = (call: unknown) => {
  const { any, text, count, number, isTrue } = membersOf(call);
  const [requestId, step, late] = [text('request_id'), count('step'), any('late')];
  return {
    ...toEnd(call),
    /** Tells it from every other call of the session. */
    identity: `call:${requestId}:${step}:${count('index')}`,
    step,
    requestId,
    tool: text('name', text('tool', '(no name)')),
    arguments: text('arguments'),
    durationMs: count('duration_ms'),
    retriesLeft: number('retries_left'),
    replayed: isTrue('replayed'),
    /** How many equal calls were refused alike, of which this is the last; null: it stands for itself. */
    repeats: number('repeats'),
    late: isRecord(late) ? toEnd(late) : null,
  };
};

const toEnd = (end: unknown) => {
  const { text } = membersOf(end);
  return {
    time: text('time'),
    outcome: text('outcome'),
    executed: text('executed'),
    code: text('code'),
    message: text('message'),
  };
};
