import type { Executed, FailureCode, Fault, Outcome } from '../../contract/failure.ts';
import type { JsonSchema } from '../../contract/tool-description.ts';
import { onOneLine } from '../../tools/describe-value.ts';
import { hideSensitive } from './arguments-preview.ts';
import type { AskedEntry } from './asked-entry.ts';
import type { JournalLine } from './round-lines.ts';

const MAX_NAME = 64;
const MAX_ID = 128;
// As many characters as a request id may have.
export const MAX_REQUEST_ID = 64;
const MAX_MESSAGE = 500;
const MAX_PREVIEW = 200;

/** How a call ended, as its line tells it. */
export type JournalEnd = {
  readonly success: boolean;
  readonly outcome: Outcome;
  readonly executed: Executed;
  readonly code: FailureCode | null;
  readonly fault: Fault | null;
  readonly message: string;
  readonly replayed: boolean;
};

/** The end of a call of which there is nothing to tell but that it went well: one for all of them. */
export const PLAIN_SUCCESS: JournalEnd = {
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  message: '',
  replayed: false,
};

/** What the journal asks of the redactor. */
export type JournalRedactor = {
  /** The text's first `limit` characters without secrets. */
  readonly cut: (text: string, limit: number, place: 'journal') => string;
  /** Whether a text may hold what `cut` replaces. */
  readonly mayHold: (text: string) => boolean;
};

/** What a line tells of a call, beside what was asked for. */
export type JournalCall = {
  readonly index: number;
  readonly kind: 'ready' | 'unknown_tool' | 'refused';
  /** The tool's own name, or the one for names that no tool has; null for a refused call that names none. */
  readonly tool: string | null;
  /** Whether its arguments are an object that can be read. */
  readonly readable: boolean;
  /** The schema of its arguments where that marks some as sensitive. */
  readonly hiding: JsonSchema | null;
  readonly end: JournalEnd;
  readonly durationMs: number;
};

/** Arguments of a call that names a tool: RFC 8785 text or the text that cannot be read, and SHA-256 of tool and text. */
export type ArgumentsText = { readonly text: string; readonly fingerprint: string };

/** What the lines of one batch share, as JSON texts where they are texts. */
export type JournalHead = {
  readonly step: number;
  readonly time: string;
  readonly requestId: string;
  readonly redactor: Pick<JournalRedactor, 'cut'>;
};

/** `time` in Unix milliseconds. */
export const toJournalHead = (
  requestId: string,
  { step, time, redactor }: Pick<JournalHead, 'step' | 'redactor'> & { readonly time: number },
): JournalHead => ({
  step,
  time: `"${new Date(time).toISOString()}"`,
  requestId: JSON.stringify(redactor.cut(requestId, MAX_REQUEST_ID, 'journal')),
  redactor,
});

/**
 * One call as the journal keeps it (`JournalEntry`), redacted; the store adds what is left of its tool's retries. Put
 * together by hand: a session that is read has hundreds of lines.
 */
export const toJournalLine = (
  call: JournalCall,
  { asked, given }: { readonly asked: AskedEntry; readonly given: ArgumentsText | null },
  head: JournalHead,
): JournalLine => {
  const { end } = call;
  const fingerprint = given === null ? 'null' : `"${given.fingerprint}"`;
  const cut = (said: string, limit: number): string => JSON.stringify(head.redactor.cut(said, limit, 'journal'));
  const preview = given === null ? '""' : cut(hideSensitive(given.text, call), MAX_PREVIEW);
  const json =
    `{"step":${head.step},"time":${head.time},"request_id":${head.requestId},"index":${call.index},` +
    `"id":${toIdText(asked, cut)},"tool":${JSON.stringify(call.tool)},"name":${toNameText(call, asked, cut)},"fingerprint":${fingerprint},` +
    `"arguments":${preview},"success":${end.success},"outcome":"${end.outcome}","executed":"${end.executed}",` +
    `"code":${JSON.stringify(end.code)},"fault":${JSON.stringify(end.fault)},"message":${end.message === '' ? '""' : cut(end.message, MAX_MESSAGE)},` +
    `"duration_ms":${Math.round(call.durationMs * 100) / 100}${end.replayed ? ',"replayed":true' : ''}}`;
  return { tool: call.kind === 'refused' ? null : call.tool, json };
};

const toIdText = ({ id }: AskedEntry, cut: Cut): string => {
  if (id === null) return 'null';
  const text = cut(String(id), MAX_ID);
  return text === `"${id}"` && typeof id === 'number' ? String(id) : text;
};

// The name of a tool is no text that somebody made up.
type Cut = (text: string, limit: number) => string;

const toNameText = ({ kind }: JournalCall, { name }: AskedEntry, cut: Cut): string =>
  kind === 'ready' || name === null ? JSON.stringify(name) : cut(onOneLine(name), MAX_NAME);
