import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { showText } from '../http/show-url.ts';
import { isNotSent, networkCodeOf } from './call-failure.ts';
import type { ServerTransport } from './server-transport.ts';
import { readHttpTrouble } from './upstream-http-error.ts';

/** One way to try a server. */
export type Attempt = { readonly mode: VersionNegotiationMode; readonly createTransport: () => ServerTransport };

export type Connected = {
  readonly client: Client;
  /** Resolves once it has ended, however: one clause for people. */
  readonly closed: Promise<string>;
  readonly breakOff: (why: string) => void;
  readonly close: () => Promise<void>;
  readonly kill: () => void;
};

export type ConnectFailure = {
  /** One clause for people. */
  readonly reason: string;
  /** The status with which our credentials are refused. */
  readonly refusedStatus: number | null;
};

export type ConnectOptions = {
  readonly attempts: readonly Attempt[];
  /** Host and port, of a server that is reached by URL. */
  readonly address: string | null;
  readonly version: string;
  readonly limitMs: number;
  /** Gives up. */
  readonly signal: AbortSignal;
  readonly onListChanged: () => void;
  readonly onError: (error: Error) => void;
  /** Told of each transport as it is made, so that what it starts can be ended at any moment. */
  readonly onTransport: (transport: ServerTransport) => void;
};

type Opened = { readonly ok: true; readonly connected: Connected } | ({ readonly ok: false } & Refused);
type Refused = { readonly error: unknown; readonly failure: ConnectFailure };

/** Tries one way after the other, as long as another one may work. Never rejects; nothing of a failed try is left. */
export const connectServer = async (options: ConnectOptions): Promise<Opened> => {
  let first: Opened | null = null;
  for (const attempt of options.attempts) {
    const opened = await open(attempt, options);
    if (opened.ok) return opened;
    first ??= opened;
    if (options.signal.aborted || !mayDifferElsewhere(opened.error)) return opened;
  }
  return first ?? { ok: false, error: null, failure: { reason: 'there is no way to it', refusedStatus: null } };
};

const open = async ({ mode, createTransport }: Attempt, options: ConnectOptions): Promise<Opened> => {
  const server = createTransport();
  const { transport } = server;
  options.onTransport(server);
  const client = new Client(
    { name: 'recourse', version: options.version },
    {
      capabilities: {},
      versionNegotiation: { mode },
      // Else the SDK would send a call again with answers that nobody gave.
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, onChanged: () => options.onListChanged() } },
    },
  );
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve(server.reason() ?? 'the connection has ended');
  client.onerror = options.onError;
  const connecting = client.connect(transport, { timeout: options.limitMs, signal: options.signal });
  const result = await Promise.race([connecting.then(() => null, toRejection), whenOver(options)]);
  if (result === null) {
    const close = (): Promise<void> => transport.close().catch(() => undefined);
    return {
      ok: true,
      connected: { client, closed: closed.promise, breakOff: server.breakOff, close, kill: server.kill },
    };
  }
  const failure = toFailure(result.error, server.reason(), options.address);
  await transport.close().catch(() => undefined);
  return { ok: false, error: result.error, failure };
};

const toRejection = (error: unknown): { readonly error: unknown } => ({ error });

// The SDK's own limit is one of each request, and opening a transport has none.
const whenOver = ({ signal, limitMs }: ConnectOptions): Promise<{ readonly error: unknown }> =>
  new Promise((resolve) => {
    const over = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    const end = (): void => resolve({ error: new SdkError(SdkErrorCode.RequestTimeout, 'Not connected in time') });
    if (over.aborted) end();
    over.addEventListener('abort', end, { once: true });
  });

const NEEDS_PERSON: ReadonlySet<number> = new Set([401, 403]);
const TOO_MANY_REQUESTS = 429;

const statusOf = (error: unknown): number | null => {
  const trouble = readHttpTrouble(error);
  if (trouble?.kind === 'status') return trouble.status;
  if (error instanceof SdkHttpError) return error.status;
  return error instanceof SseError && error.code !== undefined ? error.code : null;
};

/** Whether a server that answered so may answer otherwise to another handshake. */
const mayDifferElsewhere = (error: unknown): boolean => {
  const status = statusOf(error);
  if (status !== null) return !NEEDS_PERSON.has(status) && status !== TOO_MANY_REQUESTS;
  if (error instanceof ProtocolError) return true;
  return error instanceof SdkError && FORMAL.has(error.code) && !isNotSent(error);
};

const FORMAL: ReadonlySet<string> = new Set([
  SdkErrorCode.EraNegotiationFailed,
  SdkErrorCode.ClientHttpUnexpectedContent,
  SdkErrorCode.InvalidResult,
]);

const toFailure = (error: unknown, ended: string | null, address: string | null): ConnectFailure => {
  const status = statusOf(error);
  const refusedStatus = status !== null && NEEDS_PERSON.has(status) ? status : null;
  if (refusedStatus !== null) return { reason: `it refuses our credentials (HTTP ${refusedStatus})`, refusedStatus };
  return { reason: ended ?? toReason(error, status, address), refusedStatus };
};

const toReason = (error: unknown, status: number | null, address: string | null): string => {
  if (status !== null) return `it answered HTTP ${status}`;
  if (error instanceof ProtocolError) return `it refused the handshake (${error.code})`;
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) return 'it did not answer in time';
  const where = address === null ? '' : ` to ${showText(address)}`;
  return `no connection${where} (${showText(networkCodeOf(error))})`;
};
