import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../config/settings/config.ts';
import { checkToolGroups } from '../config/warn-idle-settings.ts';
import { workspaceDirOf } from '../config/workspace-guard.ts';
import type { Additions, ConsolePage, Extension, ExtensionHost } from '../extensions/extension.ts';
import { OWN_EXTENSIONS } from '../packages.ts';
import type { AddedRoutes } from '../routes/route-host.ts';
import type { PageTokens } from '../tools/page-tokens.ts';
import type { WiredRedaction } from './wire-redaction.ts';

export type ExtensionParts = {
  readonly version: string;
  readonly log: Logger;
  readonly pageTokens: PageTokens;
  readonly redaction: WiredRedaction;
  readonly metrics: { readonly registry: Registry };
  /** How the file tools keep to their directories; left out: what this system offers. */
  readonly fileAccess?: ExtensionHost['fileAccess'];
};

export type WiredExtensions = Required<Pick<Additions, 'tools' | 'unavailable' | 'close'>> & {
  /** What they add to the HTTP side, in the order in which they are declared. */
  readonly http: {
    readonly added: readonly AddedRoutes[];
    /** By the names of the extensions. */
    readonly consolePages: ReadonlyMap<string, ConsolePage>;
  };
};

/** Opens all extensions that are always on, and those of the groups that TOOL_GROUPS names. */
export const wireExtensions = async (config: Config, parts: ExtensionParts): Promise<WiredExtensions> => {
  const { version, log, pageTokens, redaction, fileAccess, metrics } = parts;
  checkToolGroups(config, log);
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
  const added = new Map<string, Additions>();
  for (const extension of config.extensions.all.filter((each) => isAsked(each, host.groups))) {
    const additions = OWN_EXTENSIONS.all.includes(extension)
      ? await extension.open(config, host)
      : await openForeign(extension, config, host);
    if (additions !== null) added.set(extension.name, additions);
  }
  const all = [...added.values()];
  const pages = [...added].flatMap(([name, { consolePage }]) =>
    consolePage === undefined ? [] : [[name, consolePage] as const],
  );
  return {
    http: { added: all, consolePages: new Map(pages) },
    tools: all.flatMap(({ tools = [] }) => tools),
    unavailable: all.flatMap(({ unavailable = [] }) => unavailable),
    close: () => Promise.all(all.map(({ close }) => close?.())).then(() => undefined),
  };
};

// The catalogue says where a tool comes from, and a start that fails whose fault that is.
const openForeign = async (extension: Extension, config: Config, host: ExtensionHost): Promise<Additions | null> => {
  const source = `extension:${extension.name}`;
  try {
    const additions = await extension.open(config, host);
    const { tools = [] } = additions ?? {};
    return additions === null ? null : { ...additions, tools: tools.map((tool) => ({ ...tool, source })) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`EXTENSIONS: '${extension.name}' cannot open: ${reason}`, { cause: error });
  }
};

const isAsked = ({ groups }: Extension, asked: ReadonlySet<string>): boolean => {
  const words = Object.keys(groups);
  return words.length === 0 || words.some((word) => asked.has(word));
};
