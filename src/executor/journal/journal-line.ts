import { type Call, isReady } from '../call.ts';
import { fingerprintOf } from '../call-arguments.ts';
import type { ToolInvoked } from '../call-observer.ts';
import { onOneLine } from '../failure-text.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { JournalLine } from '../session-store.ts';
import { toArgumentsText } from './arguments-preview.ts';

const MAX_NAME = 64;
const MAX_ID = 128;
// As many characters as a request id may have.
export const MAX_REQUEST_ID = 64;
const MAX_MESSAGE = 500;
const MAX_PREVIEW = 200;

/** What the lines of one batch share, as JSON texts where they are texts. */
export type JournalHead = {
  readonly step: number;
  readonly time: string;
  readonly requestId: string;
  readonly redactor: Redactor;
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
 * together by hand: a line a call is written for every batch of a session.
 */
export const toJournalLine = (call: Call, event: ToolInvoked, head: JournalHead): JournalLine => {
  const tool = call.kind === 'refused' && call.tool === null ? null : event.tool;
  const fingerprint = isReady(call) ? `"${fingerprintOf(call)}"` : 'null';
  const cut = (text: string, limit: number): string => JSON.stringify(head.redactor.cut(text, limit, 'journal'));
  const preview = isReady(call) ? cut(toArgumentsText(call), MAX_PREVIEW) : '""';
  const json =
    `{"step":${head.step},"time":${head.time},"request_id":${head.requestId},"index":${event.index},` +
    `"id":${toIdText(call, cut)},"tool":${JSON.stringify(tool)},"name":${toNameText(call, cut)},"fingerprint":${fingerprint},` +
    `"arguments":${preview},"success":${event.success},"outcome":"${event.outcome}","executed":"${event.executed}",` +
    `"code":${JSON.stringify(event.code)},"fault":${JSON.stringify(event.fault)},"message":${event.message === '' ? '""' : cut(event.message, MAX_MESSAGE)},` +
    `"duration_ms":${Math.round(event.durationMs * 100) / 100}${event.replayed ? ',"replayed":true' : ''}}`;
  return { tool: call.kind === 'refused' ? null : event.tool, json };
};

const toIdText = ({ id }: Call, cut: Cut): string => {
  if (id === null) return 'null';
  const text = cut(String(id), MAX_ID);
  return text === `"${id}"` && typeof id === 'number' ? String(id) : text;
};

// The name of a tool is no text that somebody made up.
type Cut = (text: string, limit: number) => string;

const toNameText = (call: Call, cut: Cut): string =>
  isReady(call) || call.name === null ? JSON.stringify(call.name) : cut(onOneLine(call.name), MAX_NAME);
