import type { Logger } from 'pino';
import type { BatchAnswered } from '../executor/call-observer.ts';

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
export type BatchLines = {
  /** As pino's `timestamp`: `,"time":"…"`. */
  readonly time: () => string;
  /** pino's own destination. */
  readonly write: (line: string) => void;
  /** Whether there is nothing to take out of a text. */
  readonly isClean: (text: string) => boolean;
};

// Of such a text JSON escapes nothing, and a terminal obeys nothing. Names of keys that came in tokens may be others.
const PLAIN = /^[\w.: -]{0,400}$/;

/**
 * Writes byte for byte what pino writes, for less than half of the time: pino looks at each character of each text, and the
 * redactor at the whole line, of which callers choose a few words. Where one of those is not plain, or not clean, pino
 * writes the line. Only for a log whose level is a number, without bindings, mixins and formatters.
 */
export const createQuickLogBatch = (log: Logger, { time, write, isClean }: BatchLines): LogBatch => {
  const byPino = createLogBatch(log);
  return (batch) => {
    if (!log.isLevelEnabled('info')) return;
    const chosen = toChosen(batch);
    if (PLAIN.test(chosen) && isClean(chosen) && isOpaque(batch)) write(toLine(batch, time()));
    else byPino(batch);
  };
};

const toChosen = ({ requestId, traceId, tenant, key }: BatchAnswered): string =>
  `${requestId} ${traceId ?? ''} ${tenant} ${key ?? ''}`;

const toLine = (batch: BatchAnswered, time: string): string => {
  const { requestId, traceId, tenant, key, session, calls, failed } = batch;
  const request = traceId === null ? `"${requestId}"` : `"${requestId}","trace_id":"${traceId}"`;
  const who = key === null ? `"${tenant}"` : `"${tenant}","key":"${key}"`;
  const where = session === null ? 'null' : `"${session}"`;
  const what = `"calls":${calls},"failed":${failed},"duration_ms":${toDuration(batch)},"msg":"batch"`;
  return `{"level":30${time},"request_id":${request},"tenant":${who},"session":${where},${what}}\n`;
};

// The key of a session: its tenant and a hash, of which nobody can choose what it looks like.
const isOpaque = ({ session, tenant }: BatchAnswered): boolean =>
  session === null || (session.startsWith(tenant) && HASH.test(session.slice(tenant.length)));
const HASH = /^:[0-9a-f]{64}$/;

const toDuration = ({ durationMs }: BatchAnswered): number => Math.round(durationMs * 100) / 100;
