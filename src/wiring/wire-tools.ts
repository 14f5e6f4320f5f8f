import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Variables } from '../config/file/expand-variables.ts';
import type { ConfigContent } from '../config/file/load-config-file.ts';
import { type HostLimits, readMachine, toHostLimits } from '../config/host-limits.ts';
import { warnOfUnusedNames } from '../config/misspelled-names.ts';
import { toRequiredTools } from '../config/required-tools.ts';
import type { Config } from '../config/settings/config.ts';
import type { CallObserver } from '../executor/call-observer.ts';
import type { RunHosted } from '../executor/deadline.ts';
import type { Publish, UpstreamState } from '../extensions/source.ts';
import { PACKAGES } from '../packages.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createBuiltinReducers } from '../tools/builtin-reducers.ts';
import { createToolRegistry, type ToolRegistry } from '../tools/registry.ts';
import type { ConcurrencyOf, PlacingOf, UnavailableTool } from '../tools/tool-offer.ts';
import {
  addRequired,
  createToolReadiness,
  type DirectoryProblems,
  findUnloaded,
  type ToolsReadiness,
} from './tool-readiness.ts';
import { wireExtensions } from './wire-extensions.ts';
import { wireRedaction } from './wire-redaction.ts';

type OpenUpstreams = Awaited<ReturnType<typeof PACKAGES.upstreams>>['openUpstreams'];
type OpenDirectory = Awaited<ReturnType<Awaited<ReturnType<typeof PACKAGES.toolHosts>>['openToolDirectory']>>;

export type WiredTools = {
  readonly registry: ToolRegistry;
  readonly runHosted: RunHosted;
  /** Ends all processes of tools without waiting for it: for a process that exits. */
  readonly killHosts: () => void;
  /** How the places stand that tools come from elsewhere. */
  readonly upstreams: () => readonly UpstreamState[];
  /** What tool processes do, by the files that share them. */
  readonly hosts: WiredDirectory['hosts'];
  /** Whether the configuration file was changed and cannot be used, and why. */
  readonly configFile: Awaited<ReturnType<OpenUpstreams>>['configFile'];
  /** Whether what TOOLS_REQUIRED names serves, and what is wrong with the tools directory. */
  readonly readiness: () => ToolsReadiness;
  readonly close: () => Promise<void>;
};

export type ToolsOptions = Omit<Parameters<OpenUpstreams>[1], 'offer'> & {
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  /** How many calls of a tool the service lets run at once. */
  readonly limitOf: ConcurrencyOf;
  readonly now: () => number;
  readonly hostLimits: HostLimits;
};

/** Everything that offers tools, in the registry; and the tool hosts, where there is a tools directory. */
export const wireTools = async (config: Config, options: ToolsOptions): Promise<WiredTools> => {
  const { metrics, observer, log } = options;
  // Known once the directory is wired, which offers its tools to the registry.
  let placingOf: PlacingOf = () => null;
  // Without tools of its own: overrides change those of the service, too.
  const offered = createToolRegistry([], options.limitOf, (tool) => placingOf(tool));
  const required = toRequiredTools(config);
  // Nothing is judged before all that has tools has started.
  let look: () => void = () => undefined;
  const offer: Publish = (next) => {
    offered.offer(addRequired(next, required));
    observer.toolsOffered([...offered.list(), ...offered.listMissing().map(toMissingSeries)]);
    look();
  };
  const { openUpstreams } = await PACKAGES.upstreams();
  const { upstreams, ...sources } = await openUpstreams(config, { ...options, offer });
  const registry: ToolRegistry = {
    ...offered,
    findUnavailable: (name) => offered.findUnavailable(name) ?? findUnloaded(name, upstreams()),
  };
  const hosts = await wireDirectory(config, options, sources.publishDirectory);
  ({ placingOf } = hosts);
  const readiness = createToolReadiness({ required, registry, upstreams, directory: hosts.problems, log });
  metrics.showUpstreamsBy(upstreams);
  metrics.showConfigFileBy(() => sources.configFile().status === 'stale');
  // Last: nothing that fails here leaves their processes behind.
  await sources.start();
  look = readiness;
  look();
  warnOfUnusedNames(config, registry.list(), log);
  return {
    registry,
    runHosted: hosts.runHosted,
    upstreams,
    readiness,
    hosts: hosts.hosts,
    configFile: sources.configFile,
    killHosts: () => {
      hosts.killHosts();
      sources.kill();
    },
    close: async () => {
      await Promise.all([sources.close(), hosts.close()]);
    },
  };
};

const toMissingSeries = ({ facts }: UnavailableTool) => ({ name: facts.name, effects: 'missing' }) as const;

type WiredDirectory = Pick<WiredTools, 'runHosted' | 'killHosts' | 'close'> & {
  readonly placingOf: PlacingOf;
  readonly problems: () => DirectoryProblems;
  readonly hosts: OpenDirectory['hosts'];
};

const NO_HOSTS: WiredDirectory = {
  runHosted: () => Promise.reject(new Error('There is no tools directory, so there are no tool hosts.')),
  killHosts: () => undefined,
  close: async () => undefined,
  placingOf: () => null,
  problems: () => ({ found: [], lines: [], hasUnnamed: false }),
  hosts: () => [],
};

/** The tools directory, where the settings name one, and its tool hosts. */
const wireDirectory = async (config: Config, options: ToolsOptions, publish: Publish): Promise<WiredDirectory> => {
  const { TOOLS_DIR } = config;
  if (TOOLS_DIR === undefined) return NO_HOSTS;
  const { observer, own, guard } = options;
  const { openToolDirectory } = await PACKAGES.toolHosts();
  return openToolDirectory(TOOLS_DIR, config, {
    ...options,
    lateResult: observer.lateResult,
    check: (paths) => guard.check('TOOLS_DIR', paths),
    taken: own,
    register: publish,
  });
};

/**
 * Loads a tools directory as a service of these settings and this configuration file does, without serving. `misfits`: what the
 * file says of the tools that does not fit them, one sentence each. Rejects with one sentence for people.
 */
export const checkTools = async (
  directory: string,
  config: Config,
  environment: Variables,
  content: ConfigContent | undefined,
) => {
  const builtin = await wireExtensions(config, {
    version: 'check',
    log: pino({ level: 'silent' }),
    metrics: { registry: new Registry() },
    redaction: wireRedaction(config, environment),
    pageTokens: { find: async () => null, keep: async () => undefined },
  });
  const taken = [...builtin.tools, ...createBuiltinReducers()];
  const { checkToolDirectory } = await PACKAGES.toolHosts();
  const parts = { environment, hostLimits: toHostLimits(config, readMachine()), taken };
  const checked = await checkToolDirectory(directory, config, parts).finally(builtin.close);
  if (content === undefined) return { ...checked, misfits: [] };
  const { findMisfits } = await PACKAGES.upstreams();
  const { findRuleMisfits } = await PACKAGES.ruleChecks();
  const tools = [...builtin.tools, ...checked.offered];
  const ofRules = findRuleMisfits(tools, content.rules, content.upstreams.length === 0 ? 'all' : 'some');
  return { ...checked, misfits: [...findMisfits(tools, content), ...ofRules] };
};
