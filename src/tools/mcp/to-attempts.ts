import type { BoundedLog } from './bounded-log.ts';
import type { Attempt } from './connect-server.ts';
import { createHttpTransport, createSseTransport } from './http-transport.ts';
import type { McpServerSettings } from './mcp-server-settings.ts';
import { toServerEnvironment } from './server-environment.ts';
import { createStdioTransport } from './stdio-transport.ts';

export type AttemptOptions = {
  readonly settings: McpServerSettings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly maxMessageBytes: number;
  readonly graceMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly logOutput: BoundedLog;
  readonly logFault: BoundedLog;
};

/** The ways to try a server, in their order. */
export const toAttempts = (options: AttemptOptions): readonly Attempt[] => {
  const { command, url } = options.settings;
  if (command !== undefined) return toStdio(command, options);
  return url === undefined ? [] : toHttp(url, options);
};

// The old handshake first: servers of the previous revisions are most, and some end where they are asked for the new one.
const toStdio = (command: string, options: AttemptOptions): readonly Attempt[] => {
  const { args = [], env = {}, cwd } = options.settings;
  const server = { command, args, cwd, environment: toServerEnvironment(options.environment, env) };
  const createTransport = () => createStdioTransport({ ...options, server });
  return [
    { mode: 'legacy', createTransport },
    { mode: 'auto', createTransport },
  ];
};

const toHttp = (url: string, options: AttemptOptions): readonly Attempt[] => {
  const { settings, maxMessageBytes, now } = options;
  const http = { url, headers: settings.headers ?? {}, maxMessageBytes, now };
  const sse: Attempt = { mode: 'legacy', createTransport: () => createSseTransport(http) };
  if (settings.type === 'sse') return [sse];
  const createTransport = () => createHttpTransport(http);
  // Over HTTP asking for the new one does no harm, and such a server needs no session.
  const streamable: readonly Attempt[] = [
    { mode: 'auto', createTransport },
    { mode: 'legacy', createTransport },
  ];
  return settings.type === undefined ? [...streamable, sse] : streamable;
};
