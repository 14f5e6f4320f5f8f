import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { codeOf } from '@recourse/toolkit-kit/egress/error-code';
import { toSeconds } from '@recourse/toolkit-kit/egress/response-status';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import type { Effects } from 'recourse-server/contract/failure';
import { endSentence } from 'recourse-server/tools/describe-value';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { readStandIn } from './message-limits.ts';

/** What the texts need to know of a call. */
export type CallFacts = {
  /** The name of the server, as the settings have it. */
  readonly server: string;
  readonly effects: Effects;
  readonly maxResultBytes: number;
};

/**
 * What the end of a call says of the connection. `lost`: it has to be made again. `unanswered`: nothing, as where the
 * call was given up.
 */
export type ConnectionVerdict = 'works' | 'lost' | 'uncertain' | 'unanswered';

/** How a call ends that got no result, and what it says of the connection. */
export type CallFailure = {
  readonly connection: ConnectionVerdict;
  /** null: the answer is too large, for which the executor has a code of its own. */
  readonly error: Error | null;
};

/** Whoever says that a call went wrong has begun it: for a write tool something may have happened. */
export const toRefusal = (text: string, { effects }: CallFacts, value?: unknown): RetryableToolError =>
  new RetryableToolError(text, { value, ...(effects === 'write' ? { executed: 'maybe' } : {}) });

/** For an answer that only a person could complete. */
export const toNeedsInput = (server: string): TerminalToolError =>
  new TerminalToolError(`The MCP server '${server}' requests input from a person, which is not supported. ${GIVE_UP}`);

/** Turns whatever a `tools/call` was rejected with into what the model reads. Total. */
export const toCallFailure = (error: unknown, facts: CallFacts): CallFailure => {
  const trouble = readHttpTrouble(error);
  if (trouble !== null) return toTroubleFailure(trouble, facts);
  if (error instanceof ProtocolError) return toProtocolFailure(error, facts);
  if (error instanceof SdkHttpError) return toStatusFailure(error.status, facts);
  if (error instanceof SdkError) return toSdkFailure(error, facts);
  return toNetworkFailure(error, facts);
};

const GIVE_UP = 'Use another tool, or say what could not be done.';

const terminal = (connection: ConnectionVerdict, text: string): CallFailure => ({
  connection,
  error: new TerminalToolError(`${text} ${GIVE_UP}`),
});

type UpstreamOptions = ConstructorParameters<typeof UpstreamToolError>[2];

const unavailable = (connection: ConnectionVerdict, text: string, options: UpstreamOptions): CallFailure => ({
  connection,
  error: new UpstreamToolError('upstream_unavailable', text, options),
});

export const TOO_MANY_REQUESTS = 429;
export const FIRST_SERVER_ERROR = 500;
export const NEEDS_PERSON: ReadonlySet<number> = new Set([401, 403]);
const NOT_FOUND = 404;

const toTroubleFailure = (trouble: HttpTrouble, facts: CallFacts): CallFailure => {
  if (trouble.kind === 'too_large') return toTooLarge(facts);
  const { status, retryAfterMs } = trouble;
  if (status !== TOO_MANY_REQUESTS && status < FIRST_SERVER_ERROR) return toStatusFailure(status, facts);
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === TOO_MANY_REQUESTS) {
    const text = `Rate limit of the MCP server '${facts.server}' exceeded (429). Try again ${when} or use another tool.`;
    return {
      connection: 'works',
      error: new UpstreamToolError('upstream_rate_limited', text, { executed: 'no', ...wait }),
    };
  }
  const text = `The MCP server '${facts.server}' is not available (HTTP ${status}). ${toAdvice(facts, when)}`;
  return unavailable('uncertain', text, { executed: 'maybe', ...wait });
};

const toAdvice = ({ effects }: CallFacts, when = 'later'): string =>
  effects === 'write' ? CHECK_FIRST : `Try again ${when} or use another tool.`;

const toTooLarge = (facts: CallFacts): CallFailure => {
  if (facts.effects !== 'write') return { connection: 'works', error: null };
  const text = `The answer of the MCP server '${facts.server}' is far larger than ${facts.maxResultBytes} bytes and was not read. The call may have taken effect: check first, then ask for less.`;
  return { connection: 'works', error: toRefusal(text, facts) };
};

/** What only a person can mend. */
export const toNeedsPerson = (server: string, status: number): TerminalToolError =>
  new TerminalToolError(
    `The MCP server '${server}' rejects the credentials of this service (HTTP ${status}). Calling again does not help: say that an operator must renew them.`,
    { executed: 'no' },
  );

const toStatusFailure = (status: number, facts: CallFacts): CallFailure => {
  const { server } = facts;
  if (NEEDS_PERSON.has(status)) return { connection: 'works', error: toNeedsPerson(server, status) };
  if (status === NOT_FOUND)
    return unavailable(
      'lost',
      `The MCP server '${server}' has dropped the session of this service; a new one is being opened. Try again in 1 second.`,
      { executed: 'no', retryAfterMs: 1_000 },
    );
  return terminal('uncertain', `The MCP server '${server}' rejects the request (HTTP ${status}).`);
};

const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

const toProtocolFailure = ({ code, message, data }: ProtocolError, facts: CallFacts): CallFailure => {
  const standIn = readStandIn(data);
  if (standIn === 'too_large') return toTooLarge(facts);
  if (standIn === 'lost') return toLost(facts, 'it ended its answer before the result', 'uncertain');
  if (standIn === 'unreadable') return toUnreadable(facts, message);
  const text = message.trim() === '' ? `The MCP server '${facts.server}' gave no reason.` : message;
  // Servers give -32602 for arguments, and -32603 for whatever their tool has thrown.
  if (code === INVALID_PARAMS || code === INTERNAL_ERROR) return { connection: 'works', error: toRefusal(text, facts) };
  return terminal(
    'works',
    `The MCP server '${facts.server}' answered with error ${code}: ${endSentence(showText(text))}`,
  );
};

/** `text`: what the server says is wrong, where that much can be read. A write has been made, or has not. */
const toUnreadable = ({ server, effects }: CallFacts, text: string): CallFailure => {
  const says = text.trim() === '' ? 'is not a tool result' : `is an error: ${showText(text.trim(), MOST_SHOWN)}`;
  const answer = endSentence(`The answer of the MCP server '${server}' ${says}`);
  if (effects !== 'write') return terminal('works', answer);
  return unavailable('works', `${answer} ${CHECK_FIRST}`, { executed: 'maybe' });
};

const MOST_SHOWN = 600;
const CHECK_FIRST = 'The call may or may not have taken effect. Check before calling it again.';

const toLost = ({ server, ...facts }: CallFacts, why: string, connection: ConnectionVerdict): CallFailure => {
  const text = `The connection to the MCP server '${server}' was lost before it answered: ${why}. ${toAdvice({ server, ...facts })}`;
  return unavailable(connection, text, { executed: 'maybe' });
};

const toSdkFailure = (error: SdkError, facts: CallFacts): CallFailure => {
  switch (error.code) {
    case SdkErrorCode.ConnectionClosed:
      return toLost(facts, 'the connection has ended', 'lost');
    case SdkErrorCode.InvalidResult:
    case SdkErrorCode.ClientHttpUnexpectedContent:
      return toUnreadable(facts, '');
    default:
      return toLost(facts, showText(error.code), 'uncertain');
  }
};

// With these nothing of the request has left this machine.
const NOT_SENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['EMFILE', 'ENFILE'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED'],
]);

const toNetworkFailure = (error: unknown, facts: CallFacts): CallFailure => {
  const code = networkCodeOf(error);
  if (!NOT_SENT.has(code)) return toLost(facts, showText(code), 'uncertain');
  const text = `No connection to the MCP server '${facts.server}' (${code}). Try again later or use another tool.`;
  return unavailable('lost', text, { executed: 'no', cause: error });
};

/** The code that an error of the network carries, it or its cause. */
export const networkCodeOf = (error: unknown): string => {
  const isWrapper = error instanceof SdkError || (error instanceof Error && !('code' in error));
  return isWrapper && error.cause !== undefined ? networkCodeOf(error.cause) : codeOf(error);
};

/** Whether an error says that nothing of a request has left this machine. */
export const isNotSent = (error: unknown): boolean => NOT_SENT.has(networkCodeOf(error));

/** What a request over HTTP came to that the SDK's own errors do not tell. */
type HttpTrouble =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'too_large' };

export class HttpTroubleError extends Error {
  override readonly name: string = 'HttpTroubleError';
  readonly trouble: HttpTrouble;

  constructor(trouble: HttpTrouble) {
    super(trouble.kind === 'status' ? `HTTP ${trouble.status}` : 'the answer is too large');
    this.trouble = trouble;
  }
}

/** What happened, of such an error, or of one that has such an error as its cause; else null. */
export const readHttpTrouble = (error: unknown): HttpTrouble | null => {
  if (error instanceof HttpTroubleError) return error.trouble;
  return error instanceof Error && error.cause !== undefined ? readHttpTrouble(error.cause) : null;
};
