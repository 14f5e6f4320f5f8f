import type { Tool } from './tool.ts';

/** The tools of the service by name. */
export type ToolRegistry = {
  readonly find: (name: string) => Tool | undefined;
  /** All tools, by name. */
  readonly list: () => readonly Tool[];
};

/** Throws where two tools share a name, and names both sources: a silent winner would be the wrong one. */
export const createToolRegistry = (tools: Iterable<Tool>): ToolRegistry => {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const other = byName.get(tool.name);
    if (other !== undefined)
      throw new Error(`Two tools are called '${tool.name}': one from ${other.source}, one from ${tool.source}.`);
    byName.set(tool.name, tool);
  }
  const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { find: (name) => byName.get(name), list: () => sorted };
};
