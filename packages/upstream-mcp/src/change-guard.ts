import type { ToolLog } from 'recourse-server/tools/tool';
import type { McpServerSettings } from './mcp-server-settings.ts';
import type { ListedTool } from './tool-list.ts';

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
 * Why tools are held, by the server's own name of each.
 */
export const createChangeGuard = ({ settings, memory, log }: ChangeGuardOptions) => {
  const approved = new Map(Object.entries(settings.approved ?? {}));
  const holds = settings.onChange === 'hold';
  const logged = new Map<string, string>();
  let seen = 0;
  /** What was held must not be forgotten for new names: then a tool could come back as another and be the first of its name. */
  const checkFirst = ({ name, digest }: ListedTool): string | null => {
    if (holds && memory.size >= MOST_REMEMBERED)
      return `held: its server offers more tools than the limit of remembered ones; approve digest ${digest}`;
    if (memory.size >= MOST_REMEMBERED) memory.delete(memory.keys().next().value ?? '');
    memory.set(name, digest);
    seen += 1;
    if (seen <= MOST_LOGGED) log.info('new tool of an MCP server', { tool: name, digest });
    if (seen === MOST_LOGGED) log.warn('too many tools of an MCP server: further ones are not logged');
    return null;
  };
  const logChange = ({ name, digest }: ListedTool, before: string): void => {
    if (logged.get(name) === digest) return;
    if (logged.size >= MOST_REMEMBERED) logged.clear();
    logged.set(name, digest);
    if (!holds) memory.set(name, digest);
    log.warn('tool of an MCP server changed', { tool: name, before, digest, held: holds });
  };
  /** Why the tool is held; null where it is not. */
  const check = (tool: ListedTool): string | null => {
    const before = approved.get(tool.name) ?? memory.get(tool.name);
    if (tool.fault !== null || before === tool.digest) return null;
    if (before === undefined) return checkFirst(tool);
    logChange(tool, before);
    return holds ? `held: its description or its schema has changed; approve digest ${tool.digest}` : null;
  };
  return (tools: readonly ListedTool[]): ReadonlyMap<string, string> =>
    new Map(
      tools.flatMap((tool) => {
        const reason = check(tool);
        return reason === null ? [] : [[tool.name, reason] as const];
      }),
    );
};
