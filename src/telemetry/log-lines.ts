import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CreateCallLog } from '../executor/call-context.ts';
import type { BatchAnswered, FailureLog, ToolInvoked } from '../executor/call-observer.ts';
import type { Failure } from '../executor/call-outcome.ts';
import type { Redactor } from '../executor/redactor.ts';
import { type DescribedError, describeCauses } from './describe-error.ts';

// A model that repeats itself would fill the disk: equal lines are written once in this time.
const QUIET_MS = 1000;
const MAX_REMEMBERED = 1000;

// Stacks of one type of exception of one tool in a minute. What made them is told by the first, and a stack costs as much as
// the whole call: it is rendered, redacted and written.
const STACKS = 5;
const STACKS_MS = 60_000;

type Stacks = { readonly since: number; count: number; reference: string };

type Written = { readonly at: number; readonly reference: string; suppressed: number };

/**
 * One `warn` line per failed call (`error` for fatal ones and our own bugs), with the exception and its cause chain, which
 * the log redacts. Lines equal in tool, code, type and message are rate-limited; the next one says how many were left out.
 * The first five lines of a minute for one tool and type have stacks; the others say under which reference the last one is.
 */
export const createFailureLog = (options: {
  readonly log: Logger;
  readonly now: () => number;
  readonly createReference: () => string;
  readonly logFailure?: LogFailure | undefined;
}): FailureLog => {
  const { log, now, createReference, logFailure = writeFields } = options;
  const written = new LRUCache<string, Written>({ max: MAX_REMEMBERED });
  const withStacks = new LRUCache<string, Stacks>({ max: MAX_REMEMBERED });
  /** Under which reference the last stack stands where another one is not to be written; null where it is. */
  const findStacks = (tool: string, failure: Failure, reference: string): string | null => {
    const key = `${tool}\n${failure.type}`;
    const stacks = withStacks.get(key);
    if (stacks === undefined || now() - stacks.since >= STACKS_MS) {
      withStacks.set(key, { since: now(), count: 1, reference });
      return null;
    }
    if (stacks.count >= STACKS) return stacks.reference;
    stacks.count += 1;
    stacks.reference = reference;
    return null;
  };
  // Calls of a batch that failed alike share their failure: most of these are asked for one after the other.
  let last: { readonly failure: Failure; readonly tool: string; readonly line: Written } | null = null;
  const findWritten = (tool: string, failure: Failure): Written | undefined =>
    last !== null && last.failure === failure && last.tool === tool ? last.line : written.get(toKey(tool, failure));
  return {
    write: (call, failure) => {
      const { tool } = call;
      const line = findWritten(tool, failure);
      const at = now();
      if (line !== undefined && at - line.at < QUIET_MS) {
        line.suppressed += 1;
        last = failure.thrown === undefined ? { failure, tool, line } : null;
        return line.reference;
      }
      const reference = createReference();
      written.set(toKey(tool, failure), { at, reference, suppressed: 0 });
      last = null;
      const stacksUnder = findStacks(tool, failure, reference);
      logFailure(log, call, failure, { reference, suppressed: line?.suppressed ?? 0, stacksUnder });
      return reference;
    },
  };
};

const toKey = (tool: string, { code, type, message }: Failure): string => `${tool}\n${code}\n${type}\n${message}`;

/** What a line says beside the call and its failure. */
type FailureLine = {
  readonly reference: string;
  /** How many equal lines were left out since the last one. */
  readonly suppressed: number;
  /** The reference of the line that has the stacks; null where this one has them. */
  readonly stacksUnder: string | null;
};

/** Writes one line of a failed call into the log. */
export type LogFailure = (log: Logger, call: ToolInvoked, failure: Failure, line: FailureLine) => void;

export const levelOf = (failure: Failure): 'warn' | 'error' =>
  failure.fatal || failure.code === 'internal_error' ? 'error' : 'warn';

/** All that is known of the failure, as fields. */
export const writeFields: LogFailure = (log, call, failure, line) => {
  const { reference, suppressed, stacksUnder } = line;
  log[levelOf(failure)](
    {
      request_id: call.requestId,
      ...(call.traceId === null ? {} : { trace_id: call.traceId }),
      tenant: call.tenant,
      ...(call.key === null ? {} : { key: call.key }),
      session: call.session,
      tool: call.tool,
      index: call.index,
      code: failure.code,
      fault: call.fault,
      outcome: failure.outcome,
      executed: failure.executed,
      fatal: failure.fatal,
      reference,
      type: failure.type,
      reason: failure.message,
      causes: toCauses(failure.thrown, stacksUnder),
      ...(stacksUnder === null || failure.thrown === undefined ? {} : { stacks_under: stacksUnder }),
      ...(suppressed > 0 ? { equal_lines_left_out: suppressed } : {}),
    },
    'tool call failed',
  );
};

const toCauses = (thrown: unknown, stacksUnder: string | null): readonly DescribedError[] => {
  if (thrown === undefined) return [];
  return describeCauses(thrown, stacksUnder === null ? 'with stacks' : 'without stacks');
};

/** Writes the one line that a batch has in the log. */
export type LogBatch = (batch: BatchAnswered) => void;

const fieldsOf = ({ requestId, traceId, tenant, key, session, calls, failed, durationMs }: BatchAnswered) => ({
  request_id: requestId,
  ...(traceId === null ? {} : { trace_id: traceId }),
  tenant,
  ...(key === null ? {} : { key }),
  session,
  calls,
  failed,
  duration_ms: Math.round(durationMs * 100) / 100,
});

/** By pino. */
export const createLogBatch =
  (log: Logger): LogBatch =>
  (batch) =>
    log.info(fieldsOf(batch), 'batch');

/**
 * The same line as JSON text, for a fifth of the time: pino escapes each text by itself, and its hook looks for secrets in the
 * whole line. Here only a line in which a caller chose a text goes through the hook. `begin` is pino's part before the fields:
 * level, time and base. Only for a log without bindings but its base, mixins and other formatters than that of the level.
 */
export const createJsonLogBatch = (options: {
  readonly log: Logger;
  readonly begin: () => string;
  readonly redact: (line: string) => string;
  readonly write: (line: string) => void;
}): LogBatch => {
  const { log, begin, redact, write } = options;
  return (batch) => {
    if (!log.isLevelEnabled('info')) return;
    if (isOfService(batch)) write(`${begin()}${renderOwnFields(batch)},"msg":"batch"}\n`);
    else write(redact(`${begin()},${JSON.stringify(fieldsOf(batch)).slice(1, -1)},"msg":"batch"}\n`));
  };
};

/** The fields of a batch whose texts are all of the service: no text of them has a character that JSON escapes. */
const renderOwnFields = ({ requestId, tenant, session, calls, failed, durationMs }: BatchAnswered): string =>
  `,"request_id":"${requestId}","tenant":"${tenant}","session":${session === null ? null : `"${session}"`},"calls":${calls},"failed":${failed},"duration_ms":${Math.round(durationMs * 100) / 100}`;

// Its session is a hash.
const isOfService = ({ idBy, traceId, tenant, key }: BatchAnswered): boolean =>
  idBy === 'service' && traceId === null && key === null && tenant === 'anonymous';

// It stands on every line that a tool writes, and callers choose it: a megabyte a line would fill the disk in seconds.
const MAX_ID = 128;

/** The log of one call: the service's, with the call's ids on every line. */
export const createCallLog =
  (log: Logger, redactor: Pick<Redactor, 'cut'>): CreateCallLog =>
  ({ requestId, tool, callId }) => {
    const id = typeof callId === 'string' ? redactor.cut(callId, MAX_ID, 'log') : callId;
    const child = log.child({ request_id: requestId, tool, call_id: id });
    return {
      debug: (message, fields = {}) => child.debug({ fields }, message),
      info: (message, fields = {}) => child.info({ fields }, message),
      warn: (message, fields = {}) => child.warn({ fields }, message),
      error: (message, fields = {}) => child.error({ fields }, message),
    };
  };
