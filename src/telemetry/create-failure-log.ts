import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { FailureLog, ToolInvoked } from '../executor/call-observer.ts';
import type { Failure } from '../executor/failure.ts';
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
    const known = withStacks.get(key);
    if (known === undefined || now() - known.since >= STACKS_MS) {
      withStacks.set(key, { since: now(), count: 1, reference });
      return null;
    }
    if (known.count >= STACKS) return known.reference;
    known.count += 1;
    known.reference = reference;
    return null;
  };
  // Calls of a batch that failed alike share their failure: most of these are asked for one after the other.
  let last: { readonly failure: Failure; readonly tool: string; readonly line: Written } | null = null;
  const findWritten = (tool: string, failure: Failure): Written | undefined =>
    last !== null && last.failure === failure && last.tool === tool ? last.line : written.get(toKey(tool, failure));
  return {
    write: (call, failure) => {
      const { tool } = call;
      const known = findWritten(tool, failure);
      const at = now();
      if (known !== undefined && at - known.at < QUIET_MS) {
        known.suppressed += 1;
        last = failure.thrown === undefined ? { failure, tool, line: known } : null;
        return known.reference;
      }
      const reference = createReference();
      written.set(toKey(tool, failure), { at, reference, suppressed: 0 });
      last = null;
      const stacksUnder = findStacks(tool, failure, reference);
      logFailure(log, call, failure, { reference, suppressed: known?.suppressed ?? 0, stacksUnder });
      return reference;
    },
  };
};

const toKey = (tool: string, { code, type, message }: Failure): string => `${tool}\n${code}\n${type}\n${message}`;

/** What a line says beside the call and its failure. */
export type FailureLine = {
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
