import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import * as z from 'zod';
import type { Config } from '../config/settings/config.ts';
import { workspaceDirOf } from '../config/workspace-guard.ts';
import type { Additions, Extension, ExtensionHost } from '../extensions/extension.ts';
import { OWN_EXTENSIONS } from '../packages.ts';
import { describeCauses } from '../telemetry/describe-error.ts';
import type { PageTokens } from '../tools/page-tokens.ts';
import type { WiredRedaction } from './wire-redaction.ts';

type ExtensionParts = {
  readonly version: string;
  readonly log: Logger;
  readonly pageTokens: PageTokens;
  readonly redaction: WiredRedaction;
  readonly metrics: { readonly registry: Registry };
  /** How the file tools keep to their directories; undefined: what this system offers. */
  readonly fileAccess?: ExtensionHost['fileAccess'];
};

/** Opens all extensions that are always on, and those of the groups that TOOL_GROUPS names. */
export const wireExtensions = async (config: Config, parts: ExtensionParts) => {
  const { version, log, pageTokens, redaction, fileAccess, metrics } = parts;
  warnOfIdleSettings(config, log);
  const host: ExtensionHost = {
    log,
    groups: new Set(config.TOOL_GROUPS),
    pageTokens,
    registerSecrets: (name, values) => void redaction.register(values.map((value) => ({ name, value }))),
    workspaceDir: workspaceDirOf(config),
    fileAccess,
    userAgent: `recourse/${version}`,
    metrics: metrics.registry,
  };
  const opened: (Additions & { readonly name: string })[] = [];
  const registries = new Map<string, Registry>();
  // One after the other: of two that cannot be opened, the first is named at every start.
  for (const extension of config.extensions.all.filter(({ groups }) => isOffered(groups, host))) {
    const additions = OWN_EXTENSIONS.all.includes(extension)
      ? await extension.open(config, host)
      : await openForeign(extension, config, host, registries);
    if (additions !== null) opened.push({ name: extension.name, ...additions });
  }
  return {
    /** What they add to the HTTP side, in the order in which they are declared. */
    http: {
      added: opened,
      /** By the names of the extensions. */
      consolePages: new Map(
        opened.flatMap(({ name, consolePage }) => (consolePage ? [[name, consolePage] as const] : [])),
      ),
      /** The metrics of those that EXTENSIONS names, as Prometheus text; null: there are none. Never rejects. */
      collectAdded: registries.size === 0 ? null : () => collectAll(registries, log),
    },
    tools: opened.flatMap(({ tools = [] }) => tools),
    unavailable: opened.flatMap(({ unavailable = [] }) => unavailable),
    close: () => Promise.all(opened.map(({ close }) => close?.())).then(() => undefined),
  };
};

const isOffered = (groups: Extension['groups'], host: ExtensionHost): boolean =>
  Object.keys(groups).length === 0 || Object.keys(groups).some((group) => host.groups.has(group));

/** Warns of settings whose tools are not offered, and of tools whose settings are missing: both are mostly an oversight. */
const warnOfIdleSettings = (config: Config, log: Logger): void => {
  for (const { setting, groups, use, path } of config.extensions.purposes) {
    const offered = groups.filter((group) => config.TOOL_GROUPS.includes(group));
    const value: unknown = Reflect.get(config, setting);
    if (use !== undefined && value !== undefined && offered.length === 0)
      log.warn({ setting, groups }, 'setting has no effect: TOOL_GROUPS contains none of its groups');
    if (use === 'needed' && value === undefined && offered.length > 0)
      log.warn({ setting, groups: offered }, 'tool group is not configured: its calls will fail');
    if (path === 'credentials' && typeof value === 'string' && offered.length > 0 && !existsSync(value))
      log.warn({ setting, path: resolve(value) }, 'credentials file does not exist');
  }
};

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isTool = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'prepare' in value && isFunction(value.prepare);

// Their author may write JavaScript, which checks nothing.
const Added = z
  .strictObject({
    tools: z.array(z.custom(isTool, 'must be made by defineTool')).optional(),
    unavailable: z.array(z.unknown()).optional(),
    addRoutes: z.custom(isFunction, 'must be a function').optional(),
    links: z.record(z.string(), z.string().startsWith('/')).optional(),
    consolePage: z.strictObject({ title: z.string().min(1), script: z.string() }).optional(),
    close: z.custom(isFunction, 'must be a function').optional(),
  })
  .nullable();

const OPEN_MS = 10_000;

/** Opens an extension that EXTENSIONS names; null: its settings switch it off. Every error names the extension to blame. */
const openForeign = async (
  extension: Extension,
  config: Config,
  host: ExtensionHost,
  registries: Map<string, Registry>,
) => {
  const { name } = extension;
  const metrics = new Registry();
  registries.set(name, metrics);
  // It also keeps the process up, which would end without a word where nothing else does.
  const late = setInterval(() => host.log.warn({ extension: name }, 'extension is not open yet'), OPEN_MS);
  try {
    const additions = await extension.open(config, { ...host, metrics });
    const [issue] = Added.safeParse(additions).error?.issues ?? [];
    if (issue !== undefined)
      throw new Error(`what it adds is wrong: ${issue.path.join('.')} ${issue.message}`.replace('  ', ' '));
    const used = metrics.getMetricsAsArray().find((metric) => host.metrics.getSingleMetric(metric.name) !== undefined);
    if (used !== undefined) throw new Error(`its metric ${used.name} has the name of another.`);
    return additions === null ? null : withBlame(name, additions, host);
  } catch (error) {
    throw createBlame(`'${name}' cannot open`, error);
  } finally {
    clearInterval(late);
  }
};

/** The catalogue says where a tool comes from, and what fails later says whose it is; the others close all the same. */
const withBlame = (name: string, additions: Additions, { log }: ExtensionHost): Additions => {
  const { tools = [], addRoutes } = additions;
  const addNamed: typeof addRoutes = (app, host) => {
    try {
      addRoutes?.(app, host);
    } catch (error) {
      throw createBlame(`'${name}' cannot add its routes`, error);
    }
  };
  return {
    ...additions,
    ...(addRoutes === undefined ? {} : { addRoutes: addNamed }),
    tools: tools.map((tool) => ({ ...tool, source: `extension:${name}` })),
    close: async () => {
      try {
        await additions.close?.();
      } catch (error) {
        log.error({ extension: name, causes: describeCauses(error) }, 'extension failed to close');
      }
    },
  };
};

const createBlame = (problem: string, error: unknown): Error => {
  const reason = error instanceof Error ? error.message || error.name : String(error);
  return new Error(`EXTENSIONS: ${problem}: ${reason}`, { cause: error });
};

/** The metrics of these as one text. One whose own cannot be collected is left out, and the others are there. */
const collectAll = async (registries: ReadonlyMap<string, Registry>, log: Logger): Promise<string> => {
  const texts = Array.from(registries, ([extension, registry]) =>
    registry.metrics().catch((error: unknown) => {
      log.error({ extension, causes: describeCauses(error) }, 'metrics of an extension cannot be collected');
      return '';
    }),
  );
  return (await Promise.all(texts)).join('');
};
