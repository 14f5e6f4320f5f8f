import { dirname } from 'node:path';
import type { Logger } from 'pino';
import type { ConfigText, Variables } from 'recourse-server/config/file/expand-variables';
import type { ConfigContent, LoadedConfig } from 'recourse-server/config/file/load-config-file';
import type { FirstConfigFile } from 'recourse-server/config/file/read-config-file';
import { toRequiredTools } from 'recourse-server/config/required-tools';
import { matchesNames, type NamedSecret } from 'recourse-server/config/secrets';
import type { Config } from 'recourse-server/config/settings/config';
import { type WorkspaceGuard, workspaceDirOf } from 'recourse-server/config/workspace-guard';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { PlanHost, Publish, SourceState } from 'recourse-server/extensions/source';
import type { Tool, ToolLog } from 'recourse-server/tools/tool';
import type { ToolOffer, UnavailableTool } from 'recourse-server/tools/tool-offer';
import { Catalogue, type CatalogueRules } from './catalogue.ts';
import { findFileSecrets } from './file-secrets.ts';
import { type ConfigFileState, followConfigFile } from './follow-config-file.ts';
import { createOverrideCheck } from './override-check.ts';
import { createSourceSet, type SourceChanges } from './source-set.ts';
import { createOverrideLookup, createOverriding, findUnasked } from './tool-override.ts';
import { createWorkspaceReader } from './workspace-reader.ts';

export type OpenedUpstreams = {
  /** Takes what the tools directory offers. */
  readonly publishDirectory: Publish;
  /** Starts what the configuration file names; resolves when each has started or is known to be late. Then names stay. */
  readonly start: () => Promise<void>;
  readonly upstreams: () => readonly SourceState[];
  readonly configFile: () => ConfigFileState;
  /** Ends their processes without waiting for it. */
  readonly kill: () => void;
  readonly close: () => Promise<void>;
};

export type UpstreamsOptions = {
  readonly log: Logger;
  /** The service's own tools and reducers. */
  readonly own: readonly Tool[];
  /** Of them, those that this machine cannot offer. */
  readonly ownUnavailable: readonly UnavailableTool[];
  /** Takes the tools of all together, at once and then with every change. */
  readonly offer: Publish;
  readonly redaction: {
    readonly redactor: Pick<Redactor, 'containsSecret'>;
    /** Takes values that must not be seen, and gives the names of those that cannot be redacted. */
    readonly register: (found: readonly NamedSecret[]) => readonly string[];
  };
  /** For the variables of the file, and what of them MCP servers get. */
  readonly environment: Variables;
  /** Keeps what the file names out of the workspace. */
  readonly guard: WorkspaceGuard;
  /** Of this service. */
  readonly version: string;
  /** The configuration file as it was when the service started; null where there is none. */
  readonly configFile: FirstConfigFile | null;
  /** Takes each later version of the configuration file, for what is no tool. */
  readonly onContent: (content: ConfigContent) => Promise<void>;
};

const DIRECTORY = 'TOOLS_DIR';

/**
 * All that offers tools, put together: the service itself, its tools directory, and what the configuration file names,
 * which is followed. Rejects where the service's own tools share a name.
 */
export const openUpstreams = async (config: Config, options: UpstreamsOptions): Promise<OpenedUpstreams> => {
  const { log, own, ownUnavailable, offer, guard, configFile: file } = options;
  const register = createRegister(config, options);
  register(file?.texts ?? []);
  const catalogue = new Catalogue({ own, ownUnavailable, rules: readRules(file?.content), offer, log });
  const publish = (source: string, next: ToolOffer): void => {
    catalogue.register(source, next);
    check.look();
  };
  const graceMs = config.SHUTDOWN_GRACE_MS;
  const sources = createSourceSet({ publish, withdraw: (source) => catalogue.unregister(source), graceMs });
  const check = createOverrideCheck(catalogue, sources.states, log);
  const publishDirectory: Publish = (next) => publish(DIRECTORY, next);
  if (file === null) return { ...NO_FILE, publishDirectory, start: async () => catalogue.lockNames() };
  const host = createPlanHost(config, file, options);
  const planSources = async ({ upstreams }: ConfigContent) => {
    const plans = await Promise.all(upstreams.map(({ plan }) => plan(host)));
    return plans.filter((plan) => plan !== null);
  };
  const apply = async (content: ConfigContent): Promise<SourceChanges> => {
    const plans = await planSources(content);
    warnOfChangedLanes(file, content, log);
    catalogue.setRules(readRules(content));
    await options.onContent(content);
    const { changes, started } = sources.apply(plans);
    check.forget();
    void started.then(check.look);
    return changes;
  };
  const load = async (text: string): Promise<LoadedConfig> => {
    const loaded = file.load(text);
    register(loaded.texts);
    const { texts } = loaded;
    if (!loaded.ok) return loaded;
    const places = [guard.check('CONFIG_FILE', [file.path]), guard.checkContent(file.path, loaded.content)];
    const mistakes = [...(await Promise.all(places)).flat(), ...findDisabledRequired(config, loaded.content)];
    return mistakes.length === 0 ? loaded : { ok: false, texts, mistakes };
  };
  const follower = followConfigFile({ file, load, apply, log });
  return {
    publishDirectory,
    start: async () => {
      const { changes, started } = sources.apply(await planSources(file.content));
      const { path, content } = file;
      log.info({ file: path, upstreams: changes.added, overrides: content.tools.size }, 'configuration file read');
      await started;
      catalogue.lockNames();
      check.begin();
      follower.start();
    },
    upstreams: sources.states,
    configFile: follower.state,
    kill: sources.kill,
    close: () => {
      follower.stop();
      check.stop();
      return sources.stop();
    },
  };
};

const createPlanHost = (config: Config, file: FirstConfigFile, options: UpstreamsOptions): PlanHost => ({
  directory: dirname(file.path),
  environment: options.environment,
  holdsSecret: options.redaction.redactor.containsSecret,
  maxResultBytes: config.MAX_RESULT_BYTES,
  version: options.version,
  logFor: (upstream) => toToolLog(options.log.child({ upstream })),
  memories: new Map(),
  mayRead: async (path: string) => (await options.guard.check('a file of an OpenAPI document', [path])).length === 0,
  readWorkspaceFile: createWorkspaceReader(workspaceDirOf(config)),
});

// Calls may wait in them, and workers name them when they start.
const warnOfChangedLanes = ({ path, content }: FirstConfigFile, next: ConfigContent, log: Logger): void => {
  if (JSON.stringify(content.lanes) !== JSON.stringify(next.lanes))
    log.warn({ file: path }, 'lanes of the configuration file have changed: restart to apply them');
};

const NO_FILE = {
  upstreams: () => [],
  configFile: () => ({ path: null, status: 'none', reason: null }) as const,
  kill: () => undefined,
  close: async () => undefined,
} satisfies Partial<OpenedUpstreams>;

const createRegister = ({ SECRETS_ENV }: Config, { redaction, log }: UpstreamsOptions) => {
  const isSecretName = (name: string): boolean => matchesNames(name, SECRETS_ENV);
  return (texts: readonly ConfigText[]): void => {
    const members = redaction.register(findFileSecrets(texts, isSecretName));
    if (members.length > 0)
      log.warn({ members }, 'secrets not redacted: their values are words that the API itself uses');
  };
};

/** Writes what a source logs, its fields beside the message. */
export const toToolLog = (log: Logger): ToolLog => ({
  debug: (message, fields = {}) => log.debug(fields, message),
  info: (message, fields = {}) => log.info(fields, message),
  warn: (message, fields = {}) => log.warn(fields, message),
  error: (message, fields = {}) => log.error(fields, message),
});

const readRules = (content?: ConfigContent): CatalogueRules => ({
  order: [DIRECTORY, ...(content?.upstreams.map(({ source }) => source) ?? [])],
  overrides: content?.tools ?? new Map(),
  lanePatterns: content?.lanes.flatMap(({ tools }) => tools) ?? [],
});

/** What the configuration file says of these tools that does not fit them, one sentence each. */
export const findMisfits = (
  tools: readonly Tool[],
  { tools: overrides, upstreams }: Pick<ConfigContent, 'tools' | 'upstreams'>,
): readonly string[] => {
  const lookup = createOverrideLookup(overrides);
  const override = createOverriding();
  const overridden = tools.map((tool) => (tool.role === 'tool' ? override(tool, lookup(tool.name)) : tool));
  const misfits = overridden.flatMap((next, place) =>
    typeof next === 'string' ? [`Tool '${tools[place]?.name}': ${next}`] : [],
  );
  const fit = overridden.filter((next) => typeof next !== 'string');
  const unasked = findUnasked(fit, upstreams.length === 0);
  return [...misfits, ...unasked.map(({ tool, problem }) => `Tool '${tool}': ${problem}`)];
};

/** Entries of TOOLS_REQUIRED that no start can meet, since the configuration file disables their tools: one sentence each. */
export const findDisabledRequired = (config: Config, { tools }: Pick<ConfigContent, 'tools'>): readonly string[] => {
  const { names, prefixes } = toRequiredTools(config);
  const lookup = createOverrideLookup(tools);
  const enables = (prefix: string): boolean =>
    [...tools].some(([pattern, { enabled }]) => enabled === true && pattern.startsWith(prefix));
  const disabled = [
    ...names.map((name) => ({ entry: name, pattern: lookup(name).disabledBy })),
    // A name of which the file says nothing of its own stands for all of them.
    ...prefixes.map((prefix) => ({ entry: prefix, pattern: enables(prefix) ? null : lookup(`${prefix}_`).disabledBy })),
  ];
  return disabled.flatMap(({ entry, pattern }) =>
    pattern === null
      ? []
      : [
          `TOOLS_REQUIRED names '${entry}', which the configuration file disables: tools['${pattern}'].enabled is false. Enable it, or remove it from TOOLS_REQUIRED.`,
        ],
  );
};
