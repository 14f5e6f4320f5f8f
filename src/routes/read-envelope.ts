import { MAX_ENVELOPE_CALLS, type ToolCallsRequest } from '../contract/tool-call.ts';

/** What a body is as an object: its members, none of them checked. */
export type Members = Readonly<Record<string, unknown>>;

// Longer ones may be valid: the schema counts characters, not places of the string.
const MAX_SESSION_ID = 256;
const ROUND_ID = /^[\x20-\x7e]{1,64}$/;

/**
 * The service's own envelope in the form that nearly all requests have, read as `ToolCallsRequest` reads it and about ten
 * times as fast. null where the body is anything else: then the schema decides, and says what is wrong.
 */
export const readPlainEnvelope = (members: Members): ToolCallsRequest | null => {
  const { calls, order = 'parallel', on_error: onError = 'continue', deadline_ms: deadline } = members;
  if (members['format'] !== undefined || members['raw'] !== undefined) return null;
  if (!Array.isArray(calls) || calls.length > MAX_ENVELOPE_CALLS) return null;
  if (order !== 'parallel' && order !== 'sequential') return null;
  if (onError !== 'continue' && onError !== 'stop') return null;
  const { session_id: session, round_id: round } = members;
  if (!isSession(session) || !isRound(round) || !isDeadline(deadline)) return null;
  return { session_id: session, round_id: round, calls, order, on_error: onError, deadline_ms: deadline };
};

const isSession = (value: unknown): value is string | null | undefined =>
  typeof value === 'string' ? value !== '' && value.length <= MAX_SESSION_ID : value === undefined || value === null;

const isRound = (value: unknown): value is string | null | undefined =>
  typeof value === 'string' ? ROUND_ID.test(value) : value === undefined || value === null;

const isDeadline = (value: unknown): value is number | null | undefined =>
  typeof value === 'number' ? value > 0 && value < Number.POSITIVE_INFINITY : value === undefined || value === null;
