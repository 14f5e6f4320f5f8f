import { setTimeout } from 'node:timers/promises';
import type { Effects } from '../../contract/failure.ts';
import { defineTool } from '../define-tool.ts';
import type { InlineTool, ToolFacts, Upstream } from '../tool.ts';
import type { ToolOffer, UnavailableTool } from '../tool-offer.ts';
import { callTool, type Link } from './call-tool.ts';
import type { HeldTools } from './change-guard.ts';
import { toInputSchema } from './input-schema.ts';
import type { McpServerSettings } from './mcp-server-settings.ts';
import { toOfferedName, toPrefix } from './offered-name.ts';
import type { ListedTool } from './tool-list.ts';

export type OfferOptions = {
  readonly server: string;
  readonly upstream: Upstream;
  readonly settings: McpServerSettings;
  readonly maxResultBytes: number;
  readonly link: Link;
};

type Built = { readonly tool: InlineTool } | UnavailableTool;
type Settled = { readonly key: string; readonly built: Built };
type Parts = OfferOptions & { readonly blank: ToolFacts };
type Named = { readonly listed: ListedTool; readonly name: string };

/**
 * Makes an offer of a server's list: what is not wanted is left out, what cannot be offered is unavailable with the
 * reason. A tool that is as it was stays the same object, compiled once.
 */
export const createOfferBuilder = (
  options: OfferOptions,
): ((tools: readonly ListedTool[], held: HeldTools) => Promise<ToolOffer>) => {
  const { server, settings } = options;
  const isWanted = toFilter(settings.tools);
  const prefix = toPrefix(server, settings.prefix);
  let cache: ReadonlyMap<string, Built> = new Map();
  const parts = { ...options, blank: toBlank(options) };
  return async (tools, held) => {
    const named = tools
      .filter(({ name }) => isWanted(name))
      .map((listed) => ({ listed, name: toOfferedName(prefix, listed.name) }));
    const byName = Map.groupBy(named, ({ name }) => name);
    const settle = async (one: Named): Promise<Settled> => {
      const fault = one.listed.fault ?? toClash(byName.get(one.name) ?? []);
      if (fault !== null) return { key: '', built: toUnavailable(one, fault, parts) };
      const holding = held.get(one.listed.name);
      if (holding !== undefined) return { key: '', built: { ...toUnavailable(one, holding, parts), withheld: 'held' } };
      const key = `${one.name} ${one.listed.digest}`;
      return { key, built: cache.get(key) ?? (await buildInTurn(one, parts)) };
    };
    const built: Settled[] = [];
    for (const one of named) built.push(await settle(one));
    cache = new Map(built.filter(({ key }) => key !== '').map((one) => [one.key, one.built]));
    return {
      tools: built.flatMap((one) => ('tool' in one.built ? [one.built.tool] : [])),
      unavailable: built.flatMap((one) => ('tool' in one.built ? [] : [one.built])),
      outdated: new Map(),
    };
  };
};

const toClash = (claimants: readonly Named[]): string | null => {
  if (claimants.length < 2) return null;
  const names = claimants.map(({ listed }) => `'${listed.name}'`).slice(0, 4);
  return `the server's tools ${names.join(' and ')} come to one name`;
};

/** Whether a tool is wanted, by the server's own name of it. `*` stands for any text. */
const toFilter = ({ include, exclude }: NonNullable<McpServerSettings['tools']> = {}): ((name: string) => boolean) => {
  const included = include?.map(toPattern) ?? [/^/];
  const excluded = exclude?.map(toPattern) ?? [];
  return (name) => included.some((pattern) => pattern.test(name)) && !excluded.some((pattern) => pattern.test(name));
};

const toPattern = (text: string): RegExp => new RegExp(`^${text.split('*').map(toLiteral).join('.*')}$`, 's');

const toLiteral = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** A server's word is taken for what helps it least: what it does not declare is a write. */
const toEffects = ({ name, hints }: ListedTool, { effects = {} }: McpServerSettings): Effects => {
  const given = Object.hasOwn(effects, name) ? effects[name] : undefined;
  if (given !== undefined) return given;
  if (hints.readOnly) return 'read';
  return hints.idempotent ? 'idempotent' : 'write';
};

// Compiling a schema takes milliseconds, and a server may bring hundreds: others have as much time in between.
const buildInTurn = async (one: Named, parts: Parts): Promise<Built> => {
  const startedAt = performance.now();
  const built = build(one, parts);
  await setTimeout(performance.now() - startedAt);
  return built;
};

const build = (one: Named, options: Parts): Built => {
  const { listed, name } = one;
  const { server, link, maxResultBytes } = options;
  const facts = { server, effects: toEffects(listed, options.settings), maxResultBytes };
  try {
    const { checked, dialect } = toInputSchema(listed.inputSchema);
    const tool = defineTool({
      ...toDeclaration(one, options),
      name,
      input: checked,
      // Its output schema is neither checked nor shown: one that lies would cost a write tool its answer, and all tools
      // of the server their breaker; a promise that nobody checks is not passed on.
      run: (input, context) => callTool(listed, input, { context, link, facts }),
    });
    return { tool: { ...tool, inputSchema: { ...dialect, ...tool.inputSchema } } };
  } catch (error) {
    return toUnavailable(one, `it cannot be declared: ${describe(error)}`, options);
  }
};

const toDeclaration = ({ listed }: Named, { upstream, settings }: OfferOptions) => ({
  description: listed.description,
  effects: toEffects(listed, settings),
  upstream,
  source: upstream.name,
  ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
});

/** What is known of a tool that cannot be called. */
const toBlank = ({ upstream }: OfferOptions): ToolFacts =>
  defineTool({
    name: 'unavailable',
    description: '',
    input: { type: 'object' },
    effects: 'write',
    upstream,
    source: upstream.name,
    run: () => null,
  });

const toUnavailable = ({ listed, name }: Named, reason: string, { blank, settings }: Parts): UnavailableTool => ({
  facts: { ...blank, name, description: listed.description, effects: toEffects(listed, settings) },
  reason,
});

const MAX_REASON_LENGTH = 300;

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const cause = error.cause instanceof Error ? ` ${error.cause.message}` : '';
  return `${error.message}${cause}`.slice(0, MAX_REASON_LENGTH);
};
