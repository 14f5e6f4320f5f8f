import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../config/settings/config.ts';
import { checkToolGroups } from '../config/warn-idle-settings.ts';
import { workspaceDirOf } from '../config/workspace-guard.ts';
import type { Additions, ConsolePage, Extension, ExtensionHost } from '../extensions/extension.ts';
import { OWN_EXTENSIONS } from '../packages.ts';
import type { AddedRoutes } from '../routes/route-host.ts';
import { describeCauses } from '../telemetry/describe-error.ts';
import type { PageTokens } from '../tools/page-tokens.ts';
import { type ForeignParts, openForeign } from './open-foreign.ts';
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
    /** The metrics of those that EXTENSIONS names, as Prometheus text; null: there are none. Never rejects. */
    readonly collectAdded: (() => Promise<string>) | null;
  };
};

/** `collect`: of one that EXTENSIONS names; null: its metrics are among those of the service. */
type Opened = {
  readonly name: string;
  readonly additions: Additions | null;
  readonly collect: (() => Promise<string>) | null;
};

const open = async (extension: Extension, config: Config, parts: ForeignParts): Promise<Opened> => {
  const { name } = extension;
  return OWN_EXTENSIONS.all.includes(extension)
    ? { name, additions: await extension.open(config, parts.host), collect: null }
    : { name, ...(await openForeign(extension, config, parts)) };
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
  const asked = config.extensions.all.filter((each) => isAsked(each, host.groups));
  const opened: Opened[] = [];
  // One after the other: of two that cannot be opened, the first is named at every start.
  for (const extension of asked) opened.push(await open(extension, config, { host, ownMetrics: metrics.registry }));
  const all = opened.flatMap(({ additions }) => additions ?? []);
  const pages = opened.flatMap(({ name, additions }) =>
    additions?.consolePage === undefined ? [] : [[name, additions.consolePage] as const],
  );
  const foreign = opened.filter(({ collect }) => collect !== null);
  return {
    http: {
      added: all,
      consolePages: new Map(pages),
      collectAdded: foreign.length === 0 ? null : () => collectAll(foreign, log),
    },
    tools: all.flatMap(({ tools = [] }) => tools),
    unavailable: all.flatMap(({ unavailable = [] }) => unavailable),
    close: () => Promise.all(all.map(({ close }) => close?.())).then(() => undefined),
  };
};

/** The metrics of these as one text. One whose own cannot be collected is left out, and the others are there. */
const collectAll = async (foreign: readonly Opened[], log: Logger): Promise<string> => {
  const texts = foreign.map(async ({ name, collect }) =>
    collect?.().catch((error: unknown) => {
      log.error({ extension: name, causes: describeCauses(error) }, 'metrics of an extension cannot be collected');
      return '';
    }),
  );
  return (await Promise.all(texts)).join('');
};

const isAsked = ({ groups }: Extension, asked: ReadonlySet<string>): boolean => {
  const words = Object.keys(groups);
  return words.length === 0 || words.some((word) => asked.has(word));
};
