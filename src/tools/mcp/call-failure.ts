import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import type { Effects } from '../../contract/failure.ts';
import { endSentence } from '../describe-value.ts';
import { codeOf } from '../http/error-code.ts';
import { showText } from '../http/show-url.ts';
import { toSeconds } from '../http/to-seconds.ts';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from '../tool-errors.ts';
import { readStandIn } from './stand-in-answers.ts';
import { type HttpTrouble, readHttpTrouble } from './upstream-http-error.ts';

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
  /** `too_large`: the executor has a code of its own for it. */
  readonly end: { readonly kind: 'throw'; readonly error: Error } | { readonly kind: 'too_large' };
};

/** Whoever says that a call went wrong has begun it: for a write tool something may have happened. */
export const toRefusal = (text: string, { effects }: CallFacts, value?: unknown): RetryableToolError =>
  new RetryableToolError(text, { value, ...(effects === 'write' ? { executed: 'maybe' } : {}) });

/** Turns whatever a `tools/call` was rejected with into what the model reads. Total. */
export const toCallFailure = (error: unknown, facts: CallFacts): CallFailure => {
  const trouble = readHttpTrouble(error);
  if (trouble !== null) return toTroubleFailure(trouble, facts);
  if (error instanceof ProtocolError) return toProtocolFailure(error, facts);
  if (error instanceof SdkHttpError) return toStatusFailure(error.status, facts);
  if (error instanceof SdkError) return toSdkFailure(error, facts);
  return toNetworkFailure(error, facts);
};

const thrown = (connection: ConnectionVerdict, error: Error): CallFailure => ({
  connection,
  end: { kind: 'throw', error },
});

const TOO_MANY_REQUESTS = 429;
const FIRST_SERVER_ERROR = 500;
const NEEDS_PERSON: ReadonlySet<number> = new Set([401, 403]);
const NOT_FOUND = 404;

const toTroubleFailure = (trouble: HttpTrouble, facts: CallFacts): CallFailure => {
  if (trouble.kind === 'too_large') return toTooLarge(facts);
  const { status, retryAfterMs } = trouble;
  if (status !== TOO_MANY_REQUESTS && status < FIRST_SERVER_ERROR) return toStatusFailure(status, facts);
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === TOO_MANY_REQUESTS)
    return thrown(
      'works',
      new UpstreamToolError(
        'upstream_rate_limited',
        `The MCP server '${facts.server}' limits us (429). Try again ${when} or use another tool.`,
        { executed: 'no', ...wait },
      ),
    );
  const text = `The MCP server '${facts.server}' is not available (HTTP ${status}). ${toAdvice(facts, when)}`;
  return thrown('uncertain', new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe', ...wait }));
};

const toAdvice = ({ effects }: CallFacts, when = 'later'): string =>
  effects === 'write'
    ? 'The call may or may not have taken effect. Check before calling it again.'
    : `Try again ${when} or use another tool.`;

const toTooLarge = (facts: CallFacts): CallFailure => {
  if (facts.effects !== 'write') return { connection: 'works', end: { kind: 'too_large' } };
  const text = `The answer of the MCP server '${facts.server}' is far larger than ${facts.maxResultBytes} bytes and was not read. The call may have taken effect: check that, and ask for less.`;
  return thrown('works', toRefusal(text, facts));
};

/** What only a person can mend. */
export const toNeedsPerson = (server: string, status: number): TerminalToolError =>
  new TerminalToolError(
    `The MCP server '${server}' refuses the credentials of this service (HTTP ${status}). Calling again does not help: say that somebody has to renew them.`,
    { executed: 'no' },
  );

const toStatusFailure = (status: number, facts: CallFacts): CallFailure => {
  const { server } = facts;
  if (NEEDS_PERSON.has(status)) return thrown('works', toNeedsPerson(server, status));
  if (status === NOT_FOUND)
    return thrown(
      'lost',
      new UpstreamToolError(
        'upstream_unavailable',
        `The MCP server '${server}' has forgotten this session, and a new one is made. Try again in 1 second.`,
        { executed: 'no', retryAfterMs: 1_000 },
      ),
    );
  return thrown(
    'uncertain',
    new TerminalToolError(
      `The MCP server '${server}' does not take the request (HTTP ${status}). Use another tool, or say what could not be done.`,
    ),
  );
};

const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

const toProtocolFailure = ({ code, message, data }: ProtocolError, facts: CallFacts): CallFailure => {
  const standIn = readStandIn(data);
  if (standIn === 'too_large') return toTooLarge(facts);
  if (standIn === 'lost') return toLost(facts, 'it ended its answer before the result came', 'uncertain');
  const text = message.trim() === '' ? `The MCP server '${facts.server}' gave no reason.` : message;
  // Servers give -32602 for arguments, and -32603 for whatever their tool has thrown.
  if (code === INVALID_PARAMS || code === INTERNAL_ERROR) return thrown('works', toRefusal(text, facts));
  return thrown(
    'works',
    new TerminalToolError(
      `The MCP server '${facts.server}' answered with error ${code}: ${endSentence(showText(text))} Use another tool, or say what could not be done.`,
    ),
  );
};

const toLost = ({ server, ...facts }: CallFacts, why: string, connection: ConnectionVerdict): CallFailure => {
  const text = `The MCP server '${server}' was lost before it answered: ${why}. ${toAdvice({ server, ...facts })}`;
  return thrown(connection, new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' }));
};

const toSdkFailure = (error: SdkError, facts: CallFacts): CallFailure => {
  const terminal = (text: string): CallFailure =>
    thrown(
      'works',
      new TerminalToolError(`${text} Use another tool, or say what could not be done.`, { cause: error }),
    );
  switch (error.code) {
    case SdkErrorCode.ConnectionClosed:
      return toLost(facts, 'the connection has ended', 'lost');
    case SdkErrorCode.UnsupportedResultType:
      return terminal(`The MCP server '${facts.server}' asks for something that only a person could give.`);
    case SdkErrorCode.InvalidResult:
    case SdkErrorCode.ClientHttpUnexpectedContent:
      return terminal(`The answer of the MCP server '${facts.server}' is not one of a tool.`);
    default:
      return toLost(facts, showText(error.code), 'uncertain');
  }
};

// With these nothing of the request has left this machine.
const NOT_SENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED'],
]);

const toNetworkFailure = (error: unknown, facts: CallFacts): CallFailure => {
  const code = networkCodeOf(error);
  if (!NOT_SENT.has(code)) return toLost(facts, showText(code), 'uncertain');
  const text = `No connection to the MCP server '${facts.server}' (${code}). Try again later or use another tool.`;
  return thrown('lost', new UpstreamToolError('upstream_unavailable', text, { executed: 'no', cause: error }));
};

/** The code that an error of the network carries, it or its cause. */
export const networkCodeOf = (error: unknown): string => {
  const isWrapper = error instanceof SdkError || (error instanceof Error && !('code' in error));
  return isWrapper && error.cause !== undefined ? networkCodeOf(error.cause) : codeOf(error);
};

/** Whether an error says that nothing of a request has left this machine. */
export const isNotSent = (error: unknown): boolean => NOT_SENT.has(networkCodeOf(error));
