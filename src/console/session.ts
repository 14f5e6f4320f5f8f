import { countOf, isRecord, type JsonRecord, memberOf, numberOf, recordOf, recordsOf, textOf } from './read-json.ts';

export type SessionTool = {
  readonly name: string;
  readonly failing: boolean;
  readonly exhausted: boolean;
  readonly used: number;
  readonly running: number;
  readonly limit: number;
  readonly lastError: string;
  readonly failedStreak: number;
  readonly sameAnswerStreak: number;
  readonly calls: number | null;
  readonly maxCalls: number | null;
};

export type LateResult = {
  readonly time: string;
  readonly outcome: string;
  readonly executed: string;
  readonly code: string;
  readonly message: string;
};

export type SessionCall = LateResult & {
  /** Tells it from every other call of the session. */
  readonly identity: string;
  readonly step: number;
  readonly requestId: string;
  readonly tool: string;
  readonly arguments: string;
  readonly durationMs: number;
  readonly retriesLeft: number | null;
  readonly replayed: boolean;
  readonly late: LateResult | null;
};

/** GET /sessions/{id}, as the page shows it. */
export type Session = {
  readonly mode: string;
  readonly rounds: number;
  readonly maxRounds: number | null;
  readonly calls: number;
  readonly maxCalls: number | null;
  readonly retriesUsed: number;
  readonly retriesLimit: number;
  readonly tools: readonly SessionTool[];
  readonly slices: readonly (readonly [string, unknown])[];
  readonly sliceErrors: readonly (readonly [string, string])[];
  /** Newest first. */
  readonly journal: readonly SessionCall[];
};

/** The body of GET /sessions/{id}. */
export const toSession = (body: unknown): Session => {
  const view = recordOf(body);
  const session = recordOf(memberOf(view, 'session'));
  return {
    mode: textOf(memberOf(session, 'mode')),
    rounds: countOf(memberOf(session, 'rounds')),
    maxRounds: numberOf(memberOf(session, 'max_rounds')),
    calls: countOf(memberOf(session, 'calls')),
    maxCalls: numberOf(memberOf(session, 'max_calls')),
    retriesUsed: countOf(memberOf(session, 'retries_used')),
    retriesLimit: countOf(memberOf(session, 'retries_limit')),
    tools: recordsOf(memberOf(view, 'tools')).map(toSessionTool),
    slices: Object.entries(recordOf(memberOf(view, 'slices'))),
    sliceErrors: Object.entries(recordOf(memberOf(view, 'slice_errors'))).map(([name, why]) => [name, textOf(why)]),
    journal: recordsOf(memberOf(view, 'calls')).map(toSessionCall).toReversed(),
  };
};

const toSessionTool = (tool: JsonRecord): SessionTool => {
  const streak = recordOf(memberOf(tool, 'streak'));
  return {
    name: textOf(memberOf(tool, 'name')),
    failing: memberOf(tool, 'failing') === true,
    exhausted: memberOf(tool, 'exhausted') === true,
    used: countOf(memberOf(tool, 'used')),
    running: countOf(memberOf(tool, 'running')),
    limit: countOf(memberOf(tool, 'limit')),
    lastError: textOf(memberOf(tool, 'last_error')),
    failedStreak: countOf(memberOf(streak, 'failed')),
    sameAnswerStreak: countOf(memberOf(streak, 'same_answer')),
    calls: numberOf(memberOf(tool, 'calls')),
    maxCalls: numberOf(memberOf(tool, 'max_calls')),
  };
};

const toSessionCall = (call: JsonRecord): SessionCall => {
  const requestId = textOf(memberOf(call, 'request_id'));
  const step = countOf(memberOf(call, 'step'));
  const late = memberOf(call, 'late');
  return {
    ...toEnd(call),
    identity: `call:${requestId}:${step}:${countOf(memberOf(call, 'index'))}`,
    step,
    requestId,
    tool: textOf(memberOf(call, 'name'), textOf(memberOf(call, 'tool'), '(no name)')),
    arguments: textOf(memberOf(call, 'arguments')),
    durationMs: countOf(memberOf(call, 'duration_ms')),
    retriesLeft: numberOf(memberOf(call, 'retries_left')),
    replayed: memberOf(call, 'replayed') === true,
    late: isRecord(late) ? toEnd(late) : null,
  };
};

const toEnd = (end: JsonRecord): LateResult => ({
  time: textOf(memberOf(end, 'time')),
  outcome: textOf(memberOf(end, 'outcome')),
  executed: textOf(memberOf(end, 'executed')),
  code: textOf(memberOf(end, 'code')),
  message: textOf(memberOf(end, 'message')),
});
