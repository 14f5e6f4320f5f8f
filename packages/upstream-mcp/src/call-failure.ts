import { SdkErrorCode } from '@modelcontextprotocol/client';
import { toSeconds } from '@recourse/toolkit-kit/egress/response-status';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import type { Effects } from 'recourse-server/contract/failure';
import { endSentence } from 'recourse-server/tools/describe-value';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { FIRST_SERVER_ERROR, isNotSent, NEEDS_PERSON, readTrouble, TOO_MANY_REQUESTS } from './trouble.ts';

/** What the texts need to know of a call. */
export type CallFacts = {
  /** The name of the server, as the settings have it. */
  readonly server: string;
  readonly effects: Effects;
  readonly maxResultBytes: number;
};

/**
 * How a call ends that got no result. `connection`: what that says of the connection; `lost`: it has to be made again.
 * `error`: null where the answer is too large, for which the executor has a code of its own.
 */
export type CallFailure = {
  readonly connection: 'works' | 'lost' | 'uncertain';
  readonly error: Error | null;
};

/** A refusal by the tool itself: it has begun, so for a write something may have happened. */
export const createRefusal = (text: string, { effects }: CallFacts, value?: unknown): RetryableToolError =>
  new RetryableToolError(text, { value, ...(effects === 'write' ? { executed: 'maybe' } : {}) });

const GIVE_UP = 'Use another tool, or say what could not be done.';
const CHECK_FIRST = 'The call may or may not have taken effect. Check before calling it again.';

/** For an answer that only a person could complete. */
export const createNeedsInput = (server: string): TerminalToolError =>
  new TerminalToolError(`The MCP server '${server}' requests input from a person, which is not supported. ${GIVE_UP}`);

/** What only a person can mend. */
export const createNeedsPerson = (server: string, status: number): TerminalToolError =>
  new TerminalToolError(
    `The MCP server '${server}' rejects the credentials of this service (HTTP ${status}). Calling again does not help: say that an operator must renew them.`,
    { executed: 'no' },
  );

/** Turns whatever a `tools/call` was rejected with into what the model reads. Total. */
export const explainFailure = (error: unknown, facts: CallFacts): CallFailure => {
  const trouble = readTrouble(error);
  switch (trouble.kind) {
    case 'too_large':
      return explainTooLarge(facts);
    case 'lost':
      return explainLost(facts, 'it ended its answer before the result', 'uncertain');
    case 'unreadable':
      return explainUnreadable(facts, trouble.text.trim());
    case 'invalid':
      return explainUnreadable(facts, '');
    case 'status':
      return explainStatus(trouble.status, trouble.retryAfterMs, facts);
    case 'refused':
      return explainRefused(trouble.code, trouble.text, facts);
    case 'network':
      return explainNetwork(trouble.code, error, facts);
  }
};

type UpstreamOptions = ConstructorParameters<typeof UpstreamToolError>[2];

const unavailable = (connection: CallFailure['connection'], text: string, options: UpstreamOptions): CallFailure => ({
  connection,
  error: new UpstreamToolError('upstream_unavailable', text, options),
});

const adviseNext = ({ effects }: CallFacts, when = 'later'): string =>
  effects === 'write' ? CHECK_FIRST : `Try again ${when} or use another tool.`;

const explainTooLarge = (facts: CallFacts): CallFailure => {
  if (facts.effects !== 'write') return { connection: 'works', error: null };
  const text = `The answer of the MCP server '${facts.server}' is far larger than ${facts.maxResultBytes} bytes and was not read. The call may have taken effect: check first, then ask for less.`;
  return { connection: 'works', error: createRefusal(text, facts) };
};

const explainLost = (facts: CallFacts, why: string, connection: CallFailure['connection']): CallFailure => {
  const lost = `The connection to the MCP server '${facts.server}' was lost before it answered: ${why}.`;
  return unavailable(connection, `${lost} ${adviseNext(facts)}`, { executed: 'maybe' });
};

const MOST_SHOWN = 600;

/** `text`: what the server says is wrong, where that much can be read. A write has been made, or has not. */
const explainUnreadable = ({ server, effects }: CallFacts, text: string): CallFailure => {
  const says = text === '' ? 'is not a tool result' : `is an error: ${showText(text, MOST_SHOWN)}`;
  const answer = endSentence(`The answer of the MCP server '${server}' ${says}`);
  if (effects !== 'write') return { connection: 'works', error: new TerminalToolError(`${answer} ${GIVE_UP}`) };
  return unavailable('works', `${answer} ${CHECK_FIRST}`, { executed: 'maybe' });
};

const NOT_FOUND = 404;

const explainStatus = (status: number, retryAfterMs: number | undefined, facts: CallFacts): CallFailure => {
  const { server } = facts;
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === TOO_MANY_REQUESTS) {
    const text = `Rate limit of the MCP server '${server}' exceeded (429). Try again ${when} or use another tool.`;
    const error = new UpstreamToolError('upstream_rate_limited', text, { executed: 'no', ...wait });
    return { connection: 'works', error };
  }
  if (status >= FIRST_SERVER_ERROR) {
    const text = `The MCP server '${server}' is not available (HTTP ${status}). ${adviseNext(facts, when)}`;
    return unavailable('uncertain', text, { executed: 'maybe', ...wait });
  }
  if (NEEDS_PERSON.has(status)) return { connection: 'works', error: createNeedsPerson(server, status) };
  if (status === NOT_FOUND) {
    const text = `The MCP server '${server}' has dropped the session of this service; a new one is being opened. Try again in 1 second.`;
    return unavailable('lost', text, { executed: 'no', retryAfterMs: 1_000 });
  }
  const text = `The MCP server '${server}' rejects the request (HTTP ${status}). ${GIVE_UP}`;
  return { connection: 'uncertain', error: new TerminalToolError(text) };
};

export const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

const explainRefused = (code: number, message: string, facts: CallFacts): CallFailure => {
  const text = message.trim() === '' ? `The MCP server '${facts.server}' gave no reason.` : message;
  // Servers give -32602 for arguments, and -32603 for whatever their tool has thrown.
  if (code === INVALID_PARAMS || code === INTERNAL_ERROR)
    return { connection: 'works', error: createRefusal(text, facts) };
  const answer = `The MCP server '${facts.server}' answered with error ${code}: ${endSentence(showText(text))}`;
  return { connection: 'works', error: new TerminalToolError(`${answer} ${GIVE_UP}`) };
};

const explainNetwork = (code: string, cause: unknown, facts: CallFacts): CallFailure => {
  if (code === SdkErrorCode.ConnectionClosed) return explainLost(facts, 'the connection has ended', 'lost');
  if (!isNotSent(code)) return explainLost(facts, showText(code), 'uncertain');
  const text = `No connection to the MCP server '${facts.server}' (${code}). Try again later or use another tool.`;
  return unavailable('lost', text, { executed: 'no', cause });
};
