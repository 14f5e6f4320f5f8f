import type { BatchArguments } from '../batch-arguments.ts';
import type { ToolInvoked } from '../call-observer.ts';
import { echoName } from '../failure-text.ts';
import { cutRedacted } from '../redaction/cut-redacted.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { ResolvedCall } from '../resolve-call.ts';
import type { JournalLine } from '../session-store.ts';
import { toArgumentsPreview } from './arguments-preview.ts';

const MAX_NAME = 64;
const MAX_ID = 128;
const MAX_MESSAGE = 500;

/** What the lines of one batch share, as JSON texts where they are texts. */
export type JournalHead = {
  readonly step: number;
  readonly time: string;
  readonly requestId: string;
  readonly given: BatchArguments;
  readonly redactor: Redactor;
};

/** `time` in Unix milliseconds. */
export const toJournalHead = (
  requestId: string,
  { step, time, given, redactor }: Pick<JournalHead, 'step' | 'given' | 'redactor'> & { readonly time: number },
): JournalHead => ({
  step,
  time: `"${new Date(time).toISOString()}"`,
  requestId: JSON.stringify(requestId),
  given,
  redactor,
});

/**
 * One call as the journal keeps it (`JournalEntry`), redacted; the store adds what is left of its tool's retries. Put
 * together by hand: a line a call is written for every batch of a session.
 */
export const toJournalLine = (call: ResolvedCall, event: ToolInvoked, head: JournalHead): JournalLine => {
  const tool = call.kind === 'refused' && call.tool === null ? null : event.tool;
  const isReady = call.kind === 'ready';
  const fingerprint = isReady ? `"${head.given.fingerprintOf(call)}"` : 'null';
  const preview = isReady ? JSON.stringify(toArgumentsPreview(call, head.given)) : '""';
  const json =
    `{"step":${head.step},"time":${head.time},"request_id":${head.requestId},"index":${event.index},` +
    `"id":${toIdText(call)},"tool":${JSON.stringify(tool)},"name":${toNameText(call)},"fingerprint":${fingerprint},` +
    `"arguments":${preview},"success":${event.success},"outcome":"${event.outcome}","executed":"${event.executed}",` +
    `"code":${JSON.stringify(event.code)},"fault":${JSON.stringify(event.fault)},"message":${toMessageText(event)},` +
    `"duration_ms":${Math.round(event.durationMs * 100) / 100}${event.replayed ? ',"replayed":true' : ''}}`;
  return { tool: call.kind === 'refused' ? null : event.tool, json: head.redactor.json(json, 'journal') };
};

const toIdText = ({ id }: ResolvedCall): string =>
  JSON.stringify(typeof id === 'string' ? cutRedacted(id, MAX_ID) : id);

// The name of a tool is no text that somebody made up.
const toNameText = (call: ResolvedCall): string =>
  JSON.stringify(call.kind === 'ready' || call.name === null ? call.name : cutRedacted(echoName(call.name), MAX_NAME));

const toMessageText = ({ message }: ToolInvoked): string =>
  message === '' ? '""' : JSON.stringify(cutRedacted(message, MAX_MESSAGE));
