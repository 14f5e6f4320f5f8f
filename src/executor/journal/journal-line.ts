import type { JournalEntry } from '../../contract/session.ts';
import { cutText } from '../../tools/describe-value.ts';
import type { BatchArguments } from '../batch-arguments.ts';
import type { ToolInvoked } from '../call-observer.ts';
import { echoName } from '../failure-text.ts';
import { redactSecrets } from '../redact-secrets.ts';
import type { ResolvedCall } from '../resolve-call.ts';
import type { JournalLine } from '../session-store.ts';
import { toArgumentsPreview } from './arguments-preview.ts';

const MAX_NAME = 64;
const MAX_ID = 128;
const MAX_MESSAGE = 500;

export type JournalTerms = {
  readonly step: number;
  /** Unix milliseconds. */
  readonly time: number;
  readonly given: BatchArguments;
};

/** One call as the journal keeps it; the store adds what is left of its tool's retries. */
export const toJournalLine = (call: ResolvedCall, event: ToolInvoked, terms: JournalTerms): JournalLine => {
  const entry: Omit<JournalEntry, 'retries_left'> = {
    step: terms.step,
    time: new Date(terms.time).toISOString(),
    request_id: event.requestId,
    index: event.index,
    id: typeof call.id === 'string' ? cutText(call.id, MAX_ID) : call.id,
    tool: call.kind === 'refused' && call.tool === null ? null : event.tool,
    name: call.name === null ? null : cutText(echoName(call.name), MAX_NAME),
    fingerprint: call.kind === 'ready' ? terms.given.fingerprintOf(call) : null,
    arguments: call.kind === 'ready' ? toArgumentsPreview(call, terms.given) : '',
    success: event.success,
    outcome: event.outcome,
    executed: event.executed,
    code: event.code,
    fault: event.fault,
    message: cutText(redactSecrets(event.message.slice(0, 2 * MAX_MESSAGE)), MAX_MESSAGE),
    duration_ms: Math.round(event.durationMs * 100) / 100,
    ...(event.replayed ? { replayed: true } : {}),
  };
  return { tool: call.kind === 'refused' ? null : event.tool, json: JSON.stringify(entry) };
};
