import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SseError } from '@modelcontextprotocol/client';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { isNotSent, NEEDS_PERSON, networkCodeOf, readHttpTrouble, TOO_MANY_REQUESTS } from './call-failure.ts';
import { readStandIn } from './message-limits.ts';

/** Why a connection could not be made. */
export type ConnectFailure = {
  /** One clause for people. */
  readonly reason: string;
  /** The status with which our credentials are refused. */
  readonly refusedStatus: number | null;
};

const statusOf = (error: unknown): number | null => {
  const trouble = readHttpTrouble(error);
  if (trouble?.kind === 'status') return trouble.status;
  if (error instanceof SdkHttpError) return error.status;
  return error instanceof SseError && error.code !== undefined ? error.code : null;
};

/** Whether a server that answered so may answer otherwise to another handshake. */
export const mayDifferElsewhere = (error: unknown): boolean => {
  const status = statusOf(error);
  if (status !== null) return !NEEDS_PERSON.has(status) && status !== TOO_MANY_REQUESTS;
  return error instanceof ProtocolError || (isFormal(error) && !isNotSent(error));
};

/** Whether it answered, and the SDK takes the answer for none. */
const isFormal = (error: unknown): boolean =>
  error instanceof SdkError ? FORMAL.has(error.code) : networkCodeOf(error) === PLAIN;

// What the code of an error is that has none, such as that of a version which the SDK does not speak.
const PLAIN = 'Error';

const FORMAL: ReadonlySet<string> = new Set([
  SdkErrorCode.EraNegotiationFailed,
  SdkErrorCode.ClientHttpUnexpectedContent,
  SdkErrorCode.InvalidResult,
]);

/** Why there is no connection. `endReason`: what its transport says of its end. */
export const toConnectFailure = (error: unknown, endReason: string | null, url: string | undefined): ConnectFailure => {
  const status = statusOf(error);
  if (status !== null && NEEDS_PERSON.has(status))
    return { reason: `it rejects the credentials (HTTP ${status})`, refusedStatus: status };
  return { reason: endReason ?? toReason(error, status, url), refusedStatus: null };
};

const toReason = (error: unknown, status: number | null, url: string | undefined): string => {
  if (status !== null) return `it answered HTTP ${status}`;
  if (error instanceof ProtocolError)
    return readStandIn(error.data) === 'unreadable'
      ? 'its answer to the handshake cannot be read'
      : `it refused the handshake (${error.code}): ${showText(error.message)}`;
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) return 'it did not answer in time';
  const code = networkCodeOf(error);
  if (error instanceof Error && (code === PLAIN || FORMAL.has(code)))
    return `the handshake failed: ${showText(error.message)}`;
  const where = url === undefined ? '' : ` to ${showText(toAddress(new URL(url)))}`;
  return `no connection${where} (${showText(code)})`;
};

/** For people: no credentials, no path. */
const toAddress = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
