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

/** By pino. */
export const createLogBatch =
  (log: Logger): LogBatch =>
  (batch) =>
    log.info(
      {
        request_id: batch.requestId,
        ...(batch.traceId === null ? {} : { trace_id: batch.traceId }),
        tenant: batch.tenant,
        ...(batch.key === null ? {} : { key: batch.key }),
        session: batch.session,
        calls: batch.calls,
        failed: batch.failed,
        duration_ms: toDuration(batch),
      },
      'batch',
    );

/** What a line is made of by hand, and where it goes. */
type BatchLines = {
  /** `info` as pino writes it: its number or its name. */
  readonly level: string;
  /** As pino's `timestamp`: `,"time":"…"`. */
  readonly time: () => string;
  /** pino's `base`: `,"service":"…"` and so on. */
  readonly origin: string;
  /** pino's own destination. */
  readonly write: (line: string) => void;
  /** Whether a text looks like a secret. */
  readonly mayHoldShape: (text: string) => boolean;
  /** Whether a registered secret is in a text; more may be registered at any time. */
  readonly holds: (text: string) => boolean;
};

// Of such a text JSON escapes nothing, and a terminal obeys nothing. Names of keys that came in tokens may be others.
const PLAIN = /^[\w.: -]{0,400}$/;
// An id like one of ours: none has the shape of a secret.
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
// It may be the caller's.
const TRACE = /^[0-9a-f]{32}$/;

/**
 * Writes byte for byte what pino writes, for a third of the time: pino looks at each character of each text, and the
 * redactor at the whole line, of which callers choose a few words. Where one of those is not plain, or not clean, pino
 * writes the line. Only for a log without bindings but its base, mixins and other formatters than that of the level.
 */
export const createQuickLogBatch = (log: Logger, lines: BatchLines): LogBatch => {
  const { level, time, origin, write, mayHoldShape, holds } = lines;
  const byPino = createLogBatch(log);
  const isPlain = (text: string): boolean => PLAIN.test(text) && !mayHoldShape(text);
  const senderOf = createSenderLookup(isPlain);
  const isCleanId = ({ requestId, idBy }: BatchAnswered): boolean =>
    idBy === 'service' || ((ULID.test(requestId) || isPlain(requestId)) && !holds(requestId));
  const isCleanTrace = (id: string | null): boolean => id === null || (TRACE.test(id) && !holds(id));
  return (batch) => {
    if (!log.isLevelEnabled('info')) return;
    const sender = senderOf(batch);
    const isClean = sender.isPlain && !holds(sender.name);
    if (isClean && isCleanId(batch) && isCleanTrace(batch.traceId) && isOpaque(batch))
      write(`{"level":${level}${time()}${origin},${toLine(batch, sender.text)}`);
    else byPino(batch);
  };
};

/** Who sent a batch: as a text that is looked at, and as a part of the line. */
type Sender = {
  readonly tenant: string;
  readonly key: string | null;
  readonly isPlain: boolean;
  readonly name: string;
  readonly text: string;
};

/** The sender of the last batch is likely that of the next. */
const createSenderLookup = (isPlain: (text: string) => boolean): ((batch: BatchAnswered) => Sender) => {
  const toSender = (tenant: string, key: string | null): Sender => {
    const name = `${tenant} ${key ?? ''}`;
    const who = key === null ? `"${tenant}"` : `"${tenant}","key":"${key}"`;
    return { tenant, key, isPlain: isPlain(name), name, text: `,"tenant":${who},"session":` };
  };
  let last = toSender('', null);
  return ({ tenant, key }) => {
    if (last.tenant !== tenant || last.key !== key) last = toSender(tenant, key);
    return last;
  };
};

const toLine = (batch: BatchAnswered, sender: string): string => {
  const { requestId, traceId, session, calls, failed } = batch;
  const request = traceId === null ? requestId : `${requestId}","trace_id":"${traceId}`;
  const where = session === null ? 'null' : `"${session}"`;
  const what = `,"calls":${calls},"failed":${failed},"duration_ms":${toDuration(batch)},"msg":"batch"}\n`;
  return `"request_id":"${request}"${sender}${where}${what}`;
};

// The key of a session: its tenant and a hash, of which nobody can choose what it looks like.
const isOpaque = ({ session, tenant }: BatchAnswered): boolean =>
  session === null || (session.startsWith(tenant) && HASH.test(session.slice(tenant.length)));
const HASH = /^:[0-9a-f]{64}$/;

const toDuration = ({ durationMs }: BatchAnswered): number => Math.round(durationMs * 100) / 100;

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
