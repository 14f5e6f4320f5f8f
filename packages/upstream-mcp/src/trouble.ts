import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SseError } from '@modelcontextprotocol/client';
import { codeOf } from '@recourse/toolkit-kit/egress/error-code';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { readStandIn } from './message-reader.ts';

/**
 * Why a request came to nothing, in one form for what the SDK, the network and this package throw. `too_large`: the answer
 * was not read. `lost`: it ended before the result. `unreadable`: it is no answer; `text` is what the server says is wrong.
 * `invalid`: the SDK takes the answer for none. `refused`: a JSON-RPC error. `network`: `code` of Node, undici or the SDK.
 */
type Trouble =
  | { readonly kind: 'too_large' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unreadable'; readonly text: string }
  | { readonly kind: 'invalid'; readonly text: string }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterMs?: number | undefined }
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  | { readonly kind: 'network'; readonly code: string };

/** What a request over HTTP came to that the SDK's own errors do not tell. */
export class TroubleError extends Error {
  override readonly name: string = 'TroubleError';
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    super(trouble.kind === 'status' ? `HTTP ${trouble.status}` : 'the answer is too large');
    this.trouble = trouble;
  }
}

export const TOO_MANY_REQUESTS = 429;
export const FIRST_SERVER_ERROR = 500;
export const NEEDS_PERSON: ReadonlySet<number> = new Set([401, 403]);

// Errors of the SDK about an answer, such as that of a version which it does not speak.
const INVALID: ReadonlySet<string> = new Set([
  ...[SdkErrorCode.EraNegotiationFailed, SdkErrorCode.ClientHttpUnexpectedContent, SdkErrorCode.InvalidResult],
]);

/** Total. An error that only wraps another one is read as that. */
export const readTrouble = (error: unknown): Trouble => {
  if (error instanceof TroubleError) return error.trouble;
  if (error instanceof ProtocolError) return readProtocolError(error);
  if (error instanceof SdkHttpError) return { kind: 'status', status: error.status };
  if (error instanceof SseError && error.code !== undefined) return { kind: 'status', status: error.code };
  return error instanceof Error ? readPlainError(error) : { kind: 'network', code: codeOf(error) };
};

const readPlainError = (error: Error): Trouble => {
  const isWrapper = error instanceof SdkError || !('code' in error);
  if (isWrapper && error.cause !== undefined) return readTrouble(error.cause);
  const code = codeOf(error);
  // An error without a code is the SDK's own word about a handshake.
  const isInvalid = INVALID.has(code) || code === 'Error';
  return isInvalid ? { kind: 'invalid', text: error.message } : { kind: 'network', code };
};

const readProtocolError = ({ code, message, data }: ProtocolError): Trouble => {
  const standIn = readStandIn(data);
  if (standIn === null) return { kind: 'refused', code, text: message };
  return { kind: standIn, text: message };
};

// With these nothing of the request has left this machine.
const NOT_SENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['EMFILE', 'ENFILE'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED'],
]);

export const isNotSent = (code: string): boolean => NOT_SENT.has(code);

/** Why a connection could not be made: one clause for people, and the status with which our credentials are refused. */
export type ConnectFailure = { readonly reason: string; readonly refusedStatus: number | null };

/** Whether a server that answered so may answer otherwise to another handshake. */
export const mayDifferElsewhere = (error: unknown): boolean => {
  const trouble = readTrouble(error);
  if (trouble.kind === 'status') return !NEEDS_PERSON.has(trouble.status) && trouble.status !== TOO_MANY_REQUESTS;
  if (trouble.kind !== 'network') return trouble.kind !== 'too_large';
  return error instanceof SdkError && INVALID.has(error.code) && !isNotSent(trouble.code);
};

/** Why there is no connection. `endReason`: what its transport says of its end. */
export const explainConnect = (error: unknown, endReason: string | null, url: string | undefined): ConnectFailure => {
  const trouble = readTrouble(error);
  if (trouble.kind === 'status' && NEEDS_PERSON.has(trouble.status))
    return { reason: `it rejects the credentials (HTTP ${trouble.status})`, refusedStatus: trouble.status };
  return { reason: endReason ?? describeHandshake(trouble, url), refusedStatus: null };
};

const describeHandshake = (trouble: Trouble, url: string | undefined): string => {
  switch (trouble.kind) {
    case 'status':
      return `it answered HTTP ${trouble.status}`;
    case 'refused':
      return `it refused the handshake (${trouble.code}): ${showText(trouble.text)}`;
    case 'invalid':
      return `the handshake failed: ${showText(trouble.text)}`;
    case 'network': {
      if (trouble.code === SdkErrorCode.RequestTimeout) return 'it did not answer in time';
      const where = url === undefined ? '' : ` to ${showText(showHost(new URL(url)))}`;
      return `no connection${where} (${showText(trouble.code)})`;
    }
    default:
      return 'its answer to the handshake cannot be read';
  }
};

/** For people: no credentials, no path. */
const showHost = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;

/** Why a list of tools could not be read, one clause for people. */
export const explainList = (error: unknown): string => {
  const trouble = readTrouble(error);
  switch (trouble.kind) {
    case 'too_large':
      return 'the list is too large';
    case 'status':
      return `HTTP ${trouble.status}`;
    case 'refused':
      return `error ${trouble.code}: ${showText(trouble.text)}`;
    case 'network':
      return LIST_CAUSES.get(trouble.code) ?? showText(trouble.code);
    default:
      return 'its answer is not a list of tools';
  }
};

const LIST_CAUSES: ReadonlyMap<string, string> = new Map([
  [SdkErrorCode.RequestTimeout, 'no answer in time'],
  ['TimeoutError', 'no answer in time'],
  [SdkErrorCode.ConnectionClosed, 'the connection has ended'],
]);
