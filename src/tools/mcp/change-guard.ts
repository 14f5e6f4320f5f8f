import type { ToolLog } from '../tool.ts';
import type { McpServerSettings } from './mcp-server-settings.ts';
import type { ListedTool } from './tool-list.ts';

/** Digests of tools that were seen before, by the server's own name of each. */
export type KnownDigests = Map<string, string>;

/** Why tools are held, by the server's own name of each. */
export type HeldTools = ReadonlyMap<string, string>;

export type ChangeGuardOptions = {
  readonly settings: Pick<McpServerSettings, 'onChange' | 'approved'>;
  readonly known: KnownDigests;
  readonly log: ToolLog;
};

// A server that renames its tools all the time must fill neither the memory nor the log.
const MOST_KNOWN = 10_000;
const MOST_TOLD = 512;

/**
 * Compares each tool with what was approved, or else with what was first seen of it: a server that changes a description
 * after it was looked at changes what a model does. What is held is held until its digest is approved or it is as before.
 */
export const createChangeGuard = ({ settings, known, log }: ChangeGuardOptions) => {
  const approved = new Map(Object.entries(settings.approved ?? {}));
  const holds = settings.onChange === 'hold';
  const told = new Map<string, string>();
  let seen = 0;
  const check = ({ name, digest, fault }: ListedTool): readonly [string, string] | null => {
    const before = approved.get(name) ?? known.get(name) ?? null;
    if (fault !== null || before === digest) return null;
    if (before === null) return greet(name, digest);
    tell(name, before, digest);
    return holds ? [name, `held: its description or its schema has changed; approve digest ${digest}`] : null;
  };
  /** What was held must not be forgotten for new names: then a tool could come back as another and be the first of its name. */
  const greet = (name: string, digest: string): readonly [string, string] | null => {
    if (holds && known.size >= MOST_KNOWN)
      return [name, `held: its server has shown more tools than are remembered; approve digest ${digest}`];
    remember(name, digest);
    return null;
  };
  const tell = (name: string, before: string, digest: string): void => {
    if (told.get(name) === digest) return;
    if (told.size >= MOST_KNOWN) told.clear();
    told.set(name, digest);
    if (!holds) known.set(name, digest);
    log.warn('a tool of an MCP server has changed', { tool: name, before, digest, held: holds });
  };
  const remember = (name: string, digest: string): void => {
    if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value ?? '');
    known.set(name, digest);
    seen += 1;
    if (seen <= MOST_TOLD) log.info('a tool of an MCP server was seen first', { tool: name, digest });
    if (seen === MOST_TOLD) log.warn('an MCP server shows so many tools that further ones are not logged');
  };
  return (tools: readonly ListedTool[]): HeldTools => new Map(tools.map(check).filter((held) => held !== null));
};
