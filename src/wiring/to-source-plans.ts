import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Variables } from '../config-file/expand-variables.ts';
import type { ConfigContent } from '../config-file/load-config-file.ts';
import type { Config } from '../settings/config.ts';
import type { KnownDigests } from '../tools/mcp/change-guard.ts';
import type { SourcePlan } from '../tools/offers/source-set.ts';
import type { ToolLog } from '../tools/tool.ts';

export type PlanOptions = {
  readonly config: Pick<Config, 'MAX_RESULT_BYTES'>;
  /** Absolute: what paths of the file are relative to. */
  readonly directory: string;
  readonly environment: Variables;
  /** Whether a registered secret is in a text. */
  readonly holdsSecret: (text: string) => boolean;
  readonly log: Logger;
  /** Of this service. */
  readonly version: string;
  /** Whether a file, by its real path, lies where tools do not write. */
  readonly mayRead: (path: string) => Promise<boolean>;
  /** All of a file of the workspace, or one byte more than `most`. */
  readonly readWorkspaceFile: (path: string, most: number) => Promise<Uint8Array>;
  /** Of each MCP server what it was seen to offer: a server that is made anew must not forget it. */
  readonly known: Map<string, KnownDigests>;
};

/** The sources that a configuration file asks for: MCP servers that are not disabled, then imports, each in their order. */
export const toSourcePlans = async (content: ConfigContent, options: PlanOptions): Promise<readonly SourcePlan[]> => [
  ...(await toServerPlans(content, options)),
  ...(await toImportPlans(content, options)),
];

/** What their tools are known under: see `Tool.upstream`. */
export const toSourceOrder = ({ mcpServers, openapi }: ConfigContent): readonly string[] => [
  ...mcpServers.map(({ name }) => toServerName(name)),
  ...openapi.map(({ name }) => toImportName(name)),
];

const toServerName = (name: string): string => `mcp:${name}`;
const toImportName = (name: string): string => `openapi:${name}`;

// Here and below only where there is something to import: a service without need not pay for what talks to it.
const toServerPlans = async ({ mcpServers }: ConfigContent, options: PlanOptions): Promise<readonly SourcePlan[]> => {
  if (mcpServers.length === 0) return [];
  const { createMcpUpstream } = await import('../tools/mcp/create-mcp-upstream.ts');
  const { config, directory, environment, holdsSecret, log, version } = options;
  return mcpServers
    .filter(({ settings }) => settings.disabled !== true)
    .map(({ name, settings, written }) => ({
      name: toServerName(name),
      settings: written,
      create: (publish) =>
        createMcpUpstream({
          name,
          settings: settings.cwd === undefined ? settings : { ...settings, cwd: resolve(directory, settings.cwd) },
          publish,
          log: toSourceLog(log, toServerName(name)),
          now: Date.now,
          environment,
          holdsSecret,
          maxResultBytes: config.MAX_RESULT_BYTES,
          version,
          known: knownOf(name, options),
        }),
    }));
};

const knownOf = (name: string, { known }: PlanOptions): KnownDigests => {
  const digests: KnownDigests = known.get(name) ?? new Map();
  known.set(name, digests);
  return digests;
};

const toImportPlans = async ({ openapi }: ConfigContent, options: PlanOptions): Promise<readonly SourcePlan[]> => {
  if (openapi.length === 0) return [];
  const { createOpenApiImport } = await import('../tools/openapi/openapi-import.ts');
  const { directory, log, mayRead, readWorkspaceFile } = options;
  return openapi.map(({ name, settings, written }) => ({
    name: toImportName(name),
    settings: written,
    create: (publish) =>
      createOpenApiImport({
        name,
        settings,
        directory,
        mayRead,
        readWorkspaceFile,
        publish,
        log: toSourceLog(log, toImportName(name)),
        now: Date.now,
      }),
  }));
};

const toSourceLog = (log: Logger, upstream: string): ToolLog => {
  const child = log.child({ upstream });
  return {
    debug: (message, fields = {}) => child.debug(fields, message),
    info: (message, fields = {}) => child.info(fields, message),
    warn: (message, fields = {}) => child.warn(fields, message),
    error: (message, fields = {}) => child.error(fields, message),
  };
};
