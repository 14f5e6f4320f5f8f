import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Effects } from 'recourse-server/contract/failure';
import { toPortableName } from 'recourse-server/contract/tool-names';
import { defineTool } from 'recourse-server/tools/define-tool';
import type { InlineTool, ToolFacts, Upstream } from 'recourse-server/tools/tool';
import type { ToolOffer, UnavailableTool } from 'recourse-server/tools/tool-offer';
import { matchesPattern } from 'recourse-server/tools/tool-override';
import { callTool, type Link } from './call-tool.ts';
import { readInputSchema } from './input-schema.ts';
import { fitName, type McpServerSettings } from './mcp-server-settings.ts';
import type { ListedTool } from './tool-list.ts';

type OfferOptions = {
  readonly server: string;
  /** As `prefixOf` gives it. */
  readonly prefix: string;
  readonly upstream: Upstream;
  readonly settings: McpServerSettings;
  readonly maxResultBytes: number;
  readonly link: Link;
};

type Built = { readonly tool: InlineTool } | UnavailableTool;

/**
 * Makes an offer of a server's list: what is not wanted is left out, what cannot be offered is unavailable with the
 * reason. A tool that is as it was stays the same object, compiled once. `held`: why tools are held, by the server's name.
 */
export const createOfferBuilder = (options: OfferOptions) => {
  const { settings, prefix, upstream } = options;
  const { include = ['*'], exclude = [] } = settings.tools ?? {};
  const blank: ToolFacts = defineTool({
    ...{ name: 'unavailable', description: '', input: { type: 'object' }, effects: 'write' },
    ...{ upstream, source: upstream.name, run: () => null },
  });
  let cache: ReadonlyMap<string, Built> = new Map();
  return async (tools: readonly ListedTool[], held: ReadonlyMap<string, string>): Promise<ToolOffer> => {
    const wanted = tools.filter(({ name }) => matchesAny(name, include) && !matchesAny(name, exclude));
    const byName = Map.groupBy(wanted, ({ name }) => nameOffered(prefix, name));
    const nextCache = new Map<string, Built>();
    const settle = async (listed: ListedTool): Promise<Built> => {
      const name = nameOffered(prefix, listed.name);
      const facts = { ...blank, name, description: listed.description, effects: chooseEffects(listed, settings) };
      const fault = listed.fault ?? explainClash(byName.get(name) ?? []);
      if (fault !== null) return { facts, reason: fault };
      const holding = held.get(listed.name);
      if (holding !== undefined) return { facts, reason: holding, withheld: 'held' };
      const key = `${name} ${listed.digest}`;
      const built = cache.get(key) ?? (await buildInTurn(listed, facts, options));
      nextCache.set(key, built);
      return built;
    };
    const built: Built[] = [];
    for (const listed of wanted) built.push(await settle(listed));
    cache = nextCache;
    return {
      tools: built.flatMap((one) => ('tool' in one ? [one.tool] : [])),
      unavailable: built.flatMap((one) => ('tool' in one ? [] : [one])),
      outdated: new Map(),
    };
  };
};

const matchesAny = (name: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesPattern(name, pattern));

const explainClash = (claimants: readonly ListedTool[]): string | null => {
  if (claimants.length < 2) return null;
  const names = claimants.map(({ name }) => `'${name}'`).slice(0, 4);
  return `the server's tools ${names.join(' and ')} map to the same name`;
};

/** A server's word is taken for what helps it least: what it does not declare is a write. */
const chooseEffects = ({ name, hints }: ListedTool, { effects = {} }: McpServerSettings): Effects => {
  const chosen = Object.hasOwn(effects, name) ? effects[name] : undefined;
  if (chosen !== undefined) return chosen;
  if (hints.readOnly) return 'read';
  return hints.idempotent ? 'idempotent' : 'write';
};

// Compiling a schema takes milliseconds, and a server may bring hundreds: others have as much time in between.
const buildInTurn = async (listed: ListedTool, facts: ToolFacts, options: OfferOptions): Promise<Built> => {
  const startedAt = performance.now();
  const built = build(listed, facts, options);
  await setTimeout(performance.now() - startedAt);
  return built;
};

const build = (
  listed: ListedTool,
  facts: ToolFacts,
  { server, link, maxResultBytes, upstream, settings }: OfferOptions,
): Built => {
  const { name, effects, description } = facts;
  try {
    const { checked, dialect, fill } = readInputSchema(listed.inputSchema);
    const tool = defineTool({
      name,
      description,
      effects,
      upstream,
      source: upstream.name,
      ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
      input: checked,
      // Its output schema is neither checked nor shown: one that lies would cost a write tool its answer, and all tools
      // of the server their breaker; a promise without a check is not passed on.
      run: (input, context) =>
        callTool(listed, fill(input), { context, link, facts: { server, effects, maxResultBytes } }),
    });
    return { tool: { ...tool, inputSchema: { ...dialect, ...tool.inputSchema } } };
  } catch (error) {
    return { facts, reason: `it cannot be declared: ${describeError(error)}` };
  }
};

const MAX_REASON_LENGTH = 300;

const describeError = (error: unknown): string => {
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
const nameOffered = (prefix: string, tool: string): string => {
  const whole = prefix === '' ? tool : `${prefix}_${tool}`;
  const fit = fitName(whole);
  if (fit.length <= MAX_NAME_LENGTH) return fit;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, DIGEST_LENGTH);
  return `${fit.slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
};

/** All names under which a server's tool is shown: its own, the one that models call it by, and that as providers carry it. */
export const listShownNames = (prefix: string, tool: string): readonly string[] => {
  const offered = nameOffered(prefix, tool);
  return [tool, offered, toPortableName(offered)];
};
