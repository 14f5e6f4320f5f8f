import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Effects } from 'recourse-server/contract/failure';
import { toPortableName } from 'recourse-server/contract/tool-names';
import { defineTool } from 'recourse-server/tools/define-tool';
import type { InlineTool, ToolFacts, ToolLog, Upstream } from 'recourse-server/tools/tool';
import type { ToolOffer, UnavailableTool } from 'recourse-server/tools/tool-offer';
import { matchesPattern } from 'recourse-server/tools/tool-override';
import { callTool, type Link } from './call-tool.ts';
import { toInputSchema } from './input-schema.ts';
import { type McpServerSettings, toFit } from './mcp-server-settings.ts';
import type { ListedTool } from './tool-list.ts';

/** Why tools are held, by the server's own name of each. */
export type HeldTools = ReadonlyMap<string, string>;

type OfferOptions = {
  readonly server: string;
  /** As `toPrefix` gives it. */
  readonly prefix: string;
  readonly upstream: Upstream;
  readonly settings: McpServerSettings;
  readonly maxResultBytes: number;
  readonly link: Link;
};

type Built = { readonly tool: InlineTool } | UnavailableTool;
/** A tool of the list, its name here, and what is known of it where it cannot be called. */
type Named = { readonly listed: ListedTool; readonly name: string; readonly facts: ToolFacts };

/**
 * Makes an offer of a server's list: what is not wanted is left out, what cannot be offered is unavailable with the
 * reason. A tool that is as it was stays the same object, compiled once.
 */
export const createOfferBuilder = (
  options: OfferOptions,
): ((tools: readonly ListedTool[], held: HeldTools) => Promise<ToolOffer>) => {
  const { settings, prefix } = options;
  const isWanted = toFilter(settings.tools);
  const blank = toBlank(options.upstream);
  let cache: ReadonlyMap<string, Built> = new Map();
  const toNamed = (listed: ListedTool): Named => {
    const name = toOfferedName(prefix, listed.name);
    const facts = { ...blank, name, description: listed.description, effects: toEffects(listed, settings) };
    return { listed, name, facts };
  };
  return async (tools, held) => {
    const named = tools.filter(({ name }) => isWanted(name)).map(toNamed);
    const byName = Map.groupBy(named, ({ name }) => name);
    const nextCache = new Map<string, Built>();
    const settle = async (one: Named): Promise<Built> => {
      const { facts, listed } = one;
      const fault = listed.fault ?? toClash(byName.get(one.name) ?? []);
      if (fault !== null) return { facts, reason: fault };
      const holding = held.get(listed.name);
      if (holding !== undefined) return { facts, reason: holding, withheld: 'held' };
      const key = `${one.name} ${listed.digest}`;
      const built = cache.get(key) ?? (await buildInTurn(one, options));
      nextCache.set(key, built);
      return built;
    };
    const built: Built[] = [];
    for (const one of named) built.push(await settle(one));
    cache = nextCache;
    return {
      tools: built.flatMap((one) => ('tool' in one ? [one.tool] : [])),
      unavailable: built.flatMap((one) => ('tool' in one ? [] : [one])),
      outdated: new Map(),
    };
  };
};

const toClash = (claimants: readonly Named[]): string | null => {
  if (claimants.length < 2) return null;
  const names = claimants.map(({ listed }) => `'${listed.name}'`).slice(0, 4);
  return `the server's tools ${names.join(' and ')} map to the same name`;
};

/** Whether a tool is wanted, by the server's own name of it. `*` stands for any text. */
const toFilter = ({ include, exclude }: NonNullable<McpServerSettings['tools']> = {}): ((name: string) => boolean) => {
  const isAmong = (name: string, patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesPattern(name, pattern));
  return (name) => isAmong(name, include ?? ['*']) && !isAmong(name, exclude ?? []);
};

/** A server's word is taken for what helps it least: what it does not declare is a write. */
const toEffects = ({ name, hints }: ListedTool, { effects = {} }: McpServerSettings): Effects => {
  const chosen = Object.hasOwn(effects, name) ? effects[name] : undefined;
  if (chosen !== undefined) return chosen;
  if (hints.readOnly) return 'read';
  return hints.idempotent ? 'idempotent' : 'write';
};

// Compiling a schema takes milliseconds, and a server may bring hundreds: others have as much time in between.
const buildInTurn = async (one: Named, options: OfferOptions): Promise<Built> => {
  const startedAt = performance.now();
  const built = build(one, options);
  await setTimeout(performance.now() - startedAt);
  return built;
};

const build = ({ listed, name, facts }: Named, options: OfferOptions): Built => {
  const { server, link, maxResultBytes, upstream, settings } = options;
  const { effects, description } = facts;
  try {
    const { checked, dialect, fill } = toInputSchema(listed.inputSchema);
    const tool = defineTool({
      description,
      effects,
      upstream,
      source: upstream.name,
      ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
      name,
      input: checked,
      // Its output schema is neither checked nor shown: one that lies would cost a write tool its answer, and all tools
      // of the server their breaker; a promise without a check is not passed on.
      run: (input, context) =>
        callTool(listed, fill(input), { context, link, facts: { server, effects, maxResultBytes } }),
    });
    return { tool: { ...tool, inputSchema: { ...dialect, ...tool.inputSchema } } };
  } catch (error) {
    return { facts, reason: `it cannot be declared: ${describe(error)}` };
  }
};

const toBlank = (upstream: Upstream): ToolFacts =>
  defineTool({
    name: 'unavailable',
    description: '',
    input: { type: 'object' },
    effects: 'write',
    upstream,
    source: upstream.name,
    run: () => null,
  });

const MAX_REASON_LENGTH = 300;

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const cause = error.cause instanceof Error ? ` ${error.cause.message}` : '';
  return `${error.message}${cause}`.slice(0, MAX_REASON_LENGTH);
};

const MAX_NAME_LENGTH = 64;
const DIGEST_LENGTH = 8;

/**
 * A server's tool under the name that models call it by: `{prefix}_{tool}`, every other sign an underscore. What is longer
 * than 64 signs is cut and ends with a digest of the whole, so that it stays the same and stays its own.
 */
const toOfferedName = (prefix: string, tool: string): string => {
  const whole = prefix === '' ? tool : `${prefix}_${tool}`;
  const fit = toFit(whole);
  if (fit.length <= MAX_NAME_LENGTH) return fit;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, DIGEST_LENGTH);
  return `${fit.slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
};

/** All names under which a server's tool is shown: its own, the one that models call it by, and that as providers carry it. */
export const toShownNames = (prefix: string, tool: string): readonly string[] => {
  const offered = toOfferedName(prefix, tool);
  return [tool, offered, toPortableName(offered)];
};

type ChangeGuardOptions = {
  readonly settings: Pick<McpServerSettings, 'onChange' | 'approved'>;
  /** Digests of tools that were seen before, by the server's own name of each. */
  readonly memory: Map<string, string>;
  readonly log: ToolLog;
};

// A server that renames its tools all the time must fill neither the memory nor the log.
const MOST_REMEMBERED = 10_000;
const MOST_LOGGED = 512;

/**
 * Compares each tool with what was approved, or else with what was first seen of it: a server that changes a description
 * after it was looked at changes what a model does. What is held is held until its digest is approved or it is as before.
 */
export const createChangeGuard = ({ settings, memory, log }: ChangeGuardOptions) => {
  const approved = new Map(Object.entries(settings.approved ?? {}));
  const holds = settings.onChange === 'hold';
  const logged = new Map<string, string>();
  let seen = 0;
  /** Why the tool is held; null where it is not. */
  const check = ({ name, digest, fault }: ListedTool): string | null => {
    const before = approved.get(name) ?? memory.get(name) ?? null;
    if (fault !== null || before === digest) return null;
    if (before === null) return checkFirst(name, digest);
    logChange(name, before, digest);
    return holds ? `held: its description or its schema has changed; approve digest ${digest}` : null;
  };
  /** What was held must not be forgotten for new names: then a tool could come back as another and be the first of its name. */
  const checkFirst = (name: string, digest: string): string | null => {
    if (holds && memory.size >= MOST_REMEMBERED)
      return `held: its server offers more tools than the limit of remembered ones; approve digest ${digest}`;
    if (memory.size >= MOST_REMEMBERED) memory.delete(memory.keys().next().value ?? '');
    memory.set(name, digest);
    seen += 1;
    if (seen <= MOST_LOGGED) log.info('new tool of an MCP server', { tool: name, digest });
    if (seen === MOST_LOGGED) log.warn('too many tools of an MCP server: further ones are not logged');
    return null;
  };
  const logChange = (name: string, before: string, digest: string): void => {
    if (logged.get(name) === digest) return;
    if (logged.size >= MOST_REMEMBERED) logged.clear();
    logged.set(name, digest);
    if (!holds) memory.set(name, digest);
    log.warn('tool of an MCP server changed', { tool: name, before, digest, held: holds });
  };
  return (tools: readonly ListedTool[]): HeldTools => {
    const reasons = tools.map((tool) => [tool.name, check(tool)] as const);
    return new Map(reasons.flatMap(([name, reason]) => (reason === null ? [] : [[name, reason] as const])));
  };
};
