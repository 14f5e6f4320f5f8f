import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { FailedCall, FailureLog } from '../executor/call-observer.ts';
import { describeCauses } from './describe-error.ts';

// A model that repeats itself would fill the disk: equal lines are written once in this time.
const QUIET_MS = 1000;
const MAX_REMEMBERED = 1000;

type Written = { readonly at: number; readonly reference: string; suppressed: number };

/**
 * One `warn` line per failed call (`error` for fatal ones and our own bugs), with the exception and its cause chain, which
 * the log redacts. Lines equal in tool, code, type and message are rate-limited; the next one says how many were left out.
 */
export const createFailureLog = (options: {
  readonly log: Logger;
  readonly now: () => number;
  readonly createReference: () => string;
}): FailureLog => {
  const { log, now, createReference } = options;
  const written = new LRUCache<string, Written>({ max: MAX_REMEMBERED });
  return {
    write: (call) => {
      const { failure } = call;
      const key = `${call.tool}\n${failure.code}\n${failure.type}\n${failure.message}`;
      const last = written.get(key);
      if (last !== undefined && now() - last.at < QUIET_MS) {
        last.suppressed += 1;
        return last.reference;
      }
      const reference = createReference();
      written.set(key, { at: now(), reference, suppressed: 0 });
      writeLine(log, call, reference, last?.suppressed ?? 0);
      return reference;
    },
  };
};

const writeLine = (log: Logger, call: FailedCall, reference: string, suppressed: number): void => {
  const { failure } = call;
  const level = failure.fatal || failure.code === 'internal_error' ? 'error' : 'warn';
  log[level](
    {
      request_id: call.requestId,
      ...(call.traceId === null ? {} : { trace_id: call.traceId }),
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
      causes: failure.thrown === undefined ? [] : describeCauses(failure.thrown),
      ...(suppressed > 0 ? { equal_lines_left_out: suppressed } : {}),
    },
    'tool call failed',
  );
};
