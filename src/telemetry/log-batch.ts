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
  /** Whether a text looks like a secret. */
  readonly mayHoldShape: (text: string) => boolean;
  /** Whether a registered secret is in a text; more may be registered at any time. */
  readonly holds: (text: string) => boolean;
};

// Of such a text JSON escapes nothing, and a terminal obeys nothing. Names of keys that came in tokens may be others.
const PLAIN = /^[\w.: -]{0,400}$/;
// An id of ours, or one like it: none has the shape of a secret.
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
// It may be the caller's.
const TRACE = /^[0-9a-f]{32}$/;

/**
 * Writes byte for byte what pino writes, for a third of the time: pino looks at each character of each text, and the
 * redactor at the whole line, of which callers choose a few words. Where one of those is not plain, or not clean, pino
 * writes the line. Only for a log whose level is a number, without bindings, mixins and formatters.
 */
export const createQuickLogBatch = (log: Logger, lines: BatchLines): LogBatch => {
  const { time, write, mayHoldShape, holds } = lines;
  const byPino = createLogBatch(log);
  const isPlain = (text: string): boolean => PLAIN.test(text) && !mayHoldShape(text);
  const senderOf = createSenderLookup(isPlain);
  const isCleanId = (id: string): boolean => (ULID.test(id) || isPlain(id)) && !holds(id);
  const isCleanTrace = (id: string | null): boolean => id === null || (TRACE.test(id) && !holds(id));
  return (batch) => {
    if (!log.isLevelEnabled('info')) return;
    const sender = senderOf(batch);
    const isClean = sender.isPlain && !holds(sender.name);
    if (isClean && isCleanId(batch.requestId) && isCleanTrace(batch.traceId) && isOpaque(batch))
      write(toLine(batch, time(), sender.text));
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

const toLine = (batch: BatchAnswered, time: string, sender: string): string => {
  const { requestId, traceId, session, calls, failed } = batch;
  const request = traceId === null ? requestId : `${requestId}","trace_id":"${traceId}`;
  const where = session === null ? 'null' : `"${session}"`;
  const what = `,"calls":${calls},"failed":${failed},"duration_ms":${toDuration(batch)},"msg":"batch"}\n`;
  return `{"level":30${time},"request_id":"${request}"${sender}${where}${what}`;
};

// The key of a session: its tenant and a hash, of which nobody can choose what it looks like.
const isOpaque = ({ session, tenant }: BatchAnswered): boolean =>
  session === null || (session.startsWith(tenant) && HASH.test(session.slice(tenant.length)));
const HASH = /^:[0-9a-f]{64}$/;

const toDuration = ({ durationMs }: BatchAnswered): number => Math.round(durationMs * 100) / 100;
