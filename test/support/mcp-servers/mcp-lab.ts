import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpServerSettings } from '@recourse/upstream-mcp/mcp-server-settings';
import { createMcpUpstream, type McpUpstreamOptions } from '@recourse/upstream-mcp/mcp-upstream';
import type { ToolSource } from 'recourse-server/internal/extensions/source.ts';
import { vi } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import type { InlineTool, ToolLog } from '#src/tools/tool.ts';
import type { ToolOffer } from '#src/tools/tool-offer.ts';
import { type RunningService, startService } from '../start-service.ts';

export type LoggedLine = {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

export type McpLab = AsyncDisposable & {
  readonly upstream: Required<ToolSource>;
  readonly offers: readonly ToolOffer[];
  readonly latest: () => ToolOffer;
  readonly logged: readonly LoggedLine[];
  readonly tool: (name: string) => InlineTool;
  /** Calls a tool of the offer of the start through a whole service. */
  readonly call: (name: string, args?: Readonly<Record<string, unknown>>, more?: object) => Promise<ToolResult>;
  readonly service: () => Promise<RunningService>;
};

const scriptOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const packageOf = (name: string): string =>
  fileURLToPath(new URL(`../../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));

/** Settings of servers that this repository has, run by this very Node. */
export const servers = {
  scripted: (start = 'plain', path = '') => ({
    command: process.execPath,
    args: [scriptOf('scripted-server.ts'), start, path],
  }),
  modern: (start = 'both') => ({ command: process.execPath, args: [scriptOf('modern-server.ts'), start] }),
  modernHttp: (port: string) => ({ command: process.execPath, args: [scriptOf('modern-http-server.ts'), port] }),
  bank: (ledger: string) => ({ command: process.execPath, args: [scriptOf('bank-server.ts'), ledger] }),
  http: (...words: readonly string[]) => ({
    command: process.execPath,
    args: [scriptOf('scripted-http-server.ts'), ...words],
  }),
  everything: (...words: readonly string[]) => ({
    command: process.execPath,
    args: [packageOf('server-everything'), ...words],
  }),
  filesystem: (root: string) => ({ command: process.execPath, args: [packageOf('server-filesystem'), root] }),
};

/** Waits in a tenth of their time; what a busy machine may need more of is longer. */
const QUICK = { startMs: 20_000, firstBackoffMs: 50, maxBackoffMs: 400, graceMs: 500, refreshGapMs: 20 };

export const startMcpLab = async (
  settings: Readonly<Record<string, unknown>>,
  options: Partial<McpUpstreamOptions> = {},
): Promise<McpLab> => {
  const offers: ToolOffer[] = [];
  const logged: LoggedLine[] = [];
  const upstream = createMcpUpstream({
    name: 'lab',
    settings: McpServerSettings.parse(settings),
    publish: (offer) => void offers.push(offer),
    log: createLog(logged),
    directory: '/',
    environment: process.env,
    holdsSecret: () => false,
    version: '0',
    memory: new Map(),
    maxResultBytes: 1_048_576,
    ...options,
    timing: { ...QUICK, ...options.timing },
  });
  await upstream.start();
  let service: Promise<RunningService> | null = null;
  const latest = (): ToolOffer => offers.at(-1) ?? { tools: [], unavailable: [], outdated: new Map() };
  const started = (): Promise<RunningService> => {
    service ??= startService({ LOG_LEVEL: 'error' }, latest().tools);
    return service;
  };
  return {
    upstream,
    offers,
    latest,
    logged,
    tool: (name) => {
      const tool = latest().tools.find((one) => one.name === name);
      if (tool?.runsIn !== 'service') throw new Error(`There is no tool ${name}.`);
      return tool;
    },
    call: async (name, args = {}, more = {}) => {
      const [result] = await (await started()).call([{ id: 'c', name, arguments: args, ...more }]);
      if (result === undefined) throw new Error('There is no result.');
      return result;
    },
    service: started,
    [Symbol.asyncDispose]: async () => {
      await upstream.stop();
      await (await service)?.stop();
    },
  };
};

const createLog = (logged: LoggedLine[]): ToolLog => {
  const write =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void logged.push({ level, message, fields });
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
};

/** Waits for a condition, for as long as a slow machine may need. */
export const until = <Value>(condition: () => Value | Promise<Value>): Promise<Value> =>
  vi.waitFor(condition, { timeout: 20_000, interval: 20 });

export type CountFile = AsyncDisposable & { readonly path: string; readonly lines: () => Promise<readonly string[]> };

/** A file that a server writes a line to whenever it is asked for something. */
export const createCountFile = async (): Promise<CountFile> => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-mcp-'));
  const path = join(folder, 'count');
  return {
    path,
    lines: async () => (await readFile(path, 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
};

/** Whether a process of that id is there, and no zombie. */
export const isRunning = async (pid: number): Promise<boolean> => {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') X');
  return !/\) [ZX]/.test(state);
};
