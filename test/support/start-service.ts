import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { loadConfig } from '#src/config/settings/config.ts';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { createLogHooks } from '#src/telemetry/logger.ts';
import type { Tool } from '#src/tools/tool.ts';
import { type WireOptions, wire } from '#src/wiring/wire.ts';
import { wireRedaction } from '#src/wiring/wire-redaction.ts';

export type LogLine = Readonly<Record<string, unknown>>;

export type RunningService = {
  readonly url: string;
  readonly port: number;
  /** Where health and metrics are: `url`, unless OPS_PORT is set. */
  readonly opsUrl: string;
  /** Everything that was logged so far, a parsed line each. */
  readonly logLines: () => readonly LogLine[];
  /** Posts calls as one batch over a real socket and gives the results, checked against the contract. */
  readonly call: (
    calls: readonly unknown[],
    envelope?: Readonly<Record<string, unknown>>,
  ) => Promise<readonly ToolResult[]>;
  /** The value of one metric series, e.g. `recourse_tool_calls_total{tool="echo",…}`; undefined where there is none. */
  readonly metric: (series: string) => Promise<number | undefined>;
  readonly drain: () => void;
  /** Closes the servers as a stop does: what is open on them is still answered. */
  readonly closeServers: () => Promise<unknown>;
  readonly stop: () => Promise<void>;
};

/** The whole service in this process, on a real socket of a free port, with `tools` beside the built-in ones. */
export const startService = async (
  environment: Readonly<Record<string, string>> = {},
  tools: readonly Tool[] = [],
  parts: Pick<WireOptions, 'fileAccess' | 'streamHeartbeatMs'> = {},
): Promise<RunningService> => {
  // A busy machine must not have batches refused; tests of overload say what they want.
  const loaded = loadConfig({ PORT: '0', MAX_EVENT_LOOP_LAG_MS: '60000', ...environment });
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const lines: string[] = [];
  const redaction = wireRedaction(loaded.config, { ...process.env, ...environment });
  const hooks = createLogHooks(redaction.redactor);
  const log = pino(
    { level: loaded.config.LOG_LEVEL, base: null, hooks },
    { write: (line: string) => void lines.push(line) },
  );
  const service = await wire(loaded.config, log, {
    extraTools: tools,
    environment: { ...process.env, ...environment },
    redaction,
    ...parts,
    // Tests read a number right after what changed it.
    metricsSharedMs: 0,
  });
  await service.app.listen({ host: loaded.config.HOST, port: loaded.config.PORT });
  const { port } = toAddress(service.app.server.address());
  const url = `http://127.0.0.1:${port}`;
  await service.opsApp?.listen({ host: loaded.config.HOST, port: loaded.config.OPS_PORT ?? 0 });
  const opsUrl = service.opsApp === null ? url : `http://127.0.0.1:${toAddress(service.opsApp.server.address()).port}`;
  return {
    url,
    port,
    opsUrl,
    logLines: () => lines.map(toLogLine),
    call: (calls, envelope = {}) => callService(url, calls, envelope),
    metric: (series) => readMetric(opsUrl, series),
    drain: service.drain,
    closeServers: () => Promise.all([service.app.close(), service.opsApp?.close()]),
    stop: async () => {
      service.executor.endAll();
      // A client that keeps a refused request open must not keep a test waiting.
      service.app.server.closeAllConnections();
      await service.app.close();
      await service.opsApp?.close();
      await service.close();
    },
  };
};

const toAddress = (address: AddressInfo | string | null): AddressInfo => {
  if (address === null || typeof address === 'string') throw new Error('The service has no port.');
  return address;
};

const toLogLine = (line: string): LogLine => {
  const parsed: unknown = JSON.parse(line);
  if (typeof parsed !== 'object' || parsed === null) throw new Error(`Not a log line: ${line}`);
  return { ...parsed };
};

/** Posts a batch to any service and checks the answer: 200, valid, as many results as calls, in their places. */
export const callService = async (
  url: string,
  calls: readonly unknown[],
  envelope: Readonly<Record<string, unknown>> = {},
): Promise<readonly ToolResult[]> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...envelope, calls }),
  });
  const body: unknown = await answer.json();
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${JSON.stringify(body)}`);
  const { results } = ToolCallsResponse.parse(body);
  if (results.length !== calls.length || results.some(({ index }, place) => index !== place))
    throw new Error(`${calls.length} calls, but the results are ${JSON.stringify(results.map(({ index }) => index))}`);
  return results;
};

const readMetric = async (url: string, series: string): Promise<number | undefined> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};
