import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ConfigText, Variables } from '../config-file/expand-variables.ts';
import type { ConfigContent, LoadedConfig } from '../config-file/load-config-file.ts';
import type { Config } from '../settings/config.ts';
import { type BoardRules, createOfferBoard } from '../tools/offers/offer-board.ts';
import { createSourceSet, type SourceChanges } from '../tools/offers/source-set.ts';
import type { Publish, UpstreamState } from '../tools/offers/tool-source.ts';
import type { Tool } from '../tools/tool.ts';
import type { ToolOffer, UnavailableTool } from '../tools/tool-offer.ts';
import { createOverrideCheck } from './check-overrides.ts';
import { findFileSecrets } from './file-secrets.ts';
import { type FirstConfigFile, readFirstConfigFile } from './first-config-file.ts';
import { type ConfigFileState, followConfigFile } from './follow-config-file.ts';
import { toSourceOrder, toSourcePlans } from './to-source-plans.ts';
import { matchesNames, type WiredRedaction } from './wire-redaction.ts';
import { createWorkspaceReader } from './workspace-file.ts';
import type { WorkspaceGuard } from './workspace-guard.ts';

export type WiredUpstreams = {
  /** Takes what the tools directory offers. */
  readonly publishDirectory: Publish;
  /** Starts what the configuration file names; resolves when each has started or is known to be late. Then names stay. */
  readonly start: () => Promise<void>;
  readonly upstreams: () => readonly UpstreamState[];
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
  readonly redaction: WiredRedaction;
  /** For the variables of the file, and what of them MCP servers get. */
  readonly environment: Variables;
  /** Keeps what the file names out of the workspace. */
  readonly guard: WorkspaceGuard;
  /** Of this service. */
  readonly version: string;
  /** The configuration file where it was read already: it may say something else now. */
  readonly configFile?: FirstConfigFile | null | undefined;
};

const DIRECTORY = 'TOOLS_DIR';
const NOTHING: ConfigContent = { mcpServers: [], openapi: [], tools: new Map() };

/**
 * All that offers tools, put together: the service itself, its tools directory, and what the configuration file names,
 * which is followed. Rejects where the file cannot be used, or where the service's own tools share a name.
 */
export const wireUpstreams = async (config: Config, options: UpstreamsOptions): Promise<WiredUpstreams> => {
  const { log, own, ownUnavailable, offer, environment, guard, version } = options;
  const file = await toFirstFile(config, options);
  const register = createRegister(config, options);
  register(file?.texts ?? []);
  const board = createOfferBoard({ own, ownUnavailable, rules: toRules(file?.content ?? NOTHING), offer, log });
  const publish = (source: string, next: ToolOffer): void => {
    board.publish(source, next);
    check.look();
  };
  const graceMs = config.SHUTDOWN_GRACE_MS;
  const sources = createSourceSet({ isSame: isDeepStrictEqual, publish, withdraw: board.withdraw, graceMs });
  const check = createOverrideCheck(board, sources.states, log);
  const publishDirectory: Publish = (next) => publish(DIRECTORY, next);
  if (file === null) return { ...NO_FILE, publishDirectory, start: async () => board.holdNames() };
  const paths = { directory: dirname(file.path), environment };
  const surroundings = {
    config,
    ...paths,
    holdsSecret: options.redaction.redactor.holds,
    log,
    version,
    mayRead: async (path: string) => (await guard.check('a file of a document', [path])).length === 0,
    readWorkspaceFile: createWorkspaceReader(config),
    known: new Map(),
  };
  const toPlans = (content: ConfigContent) => toSourcePlans(content, surroundings);
  const apply = async (content: ConfigContent): Promise<SourceChanges> => {
    const plans = await toPlans(content);
    board.setRules(toRules(content));
    const { changes, started } = sources.apply(plans);
    check.forget();
    void started.then(check.look);
    return changes;
  };
  const { loadConfigFile } = await import('../config-file/load-config-file.ts');
  const load = async (text: string): Promise<LoadedConfig> => {
    const loaded = loadConfigFile({ file: file.path, text, environment });
    register(loaded.texts);
    const { texts } = loaded;
    if (!loaded.ok) return loaded;
    const places = [guard.check('CONFIG_FILE', [file.path]), guard.checkContent(file.path, loaded.content)];
    const mistakes = (await Promise.all(places)).flat();
    return mistakes.length === 0 ? loaded : { ok: false, texts, mistakes };
  };
  const follower = followConfigFile({ file, load, apply, log });
  return {
    publishDirectory,
    start: async () => {
      const { changes, started } = sources.apply(await toPlans(file.content));
      const { path, content } = file;
      log.info({ file: path, upstreams: changes.added, overrides: content.tools.size }, 'configuration file read');
      await started;
      board.holdNames();
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

const NO_FILE = {
  upstreams: () => [],
  configFile: () => ({ path: null, status: 'none', reason: null }) as const,
  kill: () => undefined,
  close: async () => undefined,
} satisfies Partial<WiredUpstreams>;

const toFirstFile = async (
  config: Config,
  { configFile, environment }: UpstreamsOptions,
): Promise<FirstConfigFile | null> => {
  if (configFile !== undefined) return configFile;
  const { file, mistakes } = await readFirstConfigFile(config, environment);
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return file;
};

const createRegister = ({ SECRETS_ENV }: Config, { redaction, log }: UpstreamsOptions) => {
  const isSecretName = (name: string): boolean => matchesNames(name, SECRETS_ENV);
  return (texts: readonly ConfigText[]): void => {
    const members = redaction.register(findFileSecrets(texts, isSecretName));
    if (members.length > 0) log.warn({ members }, 'secrets not registered: each is a word of the contract');
  };
};

const toRules = (content: ConfigContent): BoardRules => ({
  order: [DIRECTORY, ...toSourceOrder(content)],
  overrides: content.tools,
});
