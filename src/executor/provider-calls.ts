import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { createDropOptionalNulls } from './optional-nulls.ts';

/** How a provider's model was told of the tools: `strict` where their schemas made it name every property. */
export type ProviderHabit = 'plain' | 'strict';

/** Entries of `calls` as a provider's model wrote them → the same as this service's callers write them. */
export type ReadProviderCalls = (calls: readonly unknown[], habit: ProviderHabit) => readonly unknown[];

/**
 * A name that no tool has, but that providers know one by, becomes that tool's; for `strict` also loses what stands for
 * "left out". Whatever else an entry holds is left as it is, and judged later.
 */
export const createReadProviderCalls = (registry: Pick<ToolRegistry, 'find' | 'findPortable'>): ReadProviderCalls => {
  const dropOptionalNulls = createDropOptionalNulls();
  const findTool = (entry: unknown): Tool | undefined =>
    isNamed(entry) ? (registry.find(entry.name) ?? registry.findPortable(entry.name)) : undefined;
  const read = (entry: unknown, habit: ProviderHabit): unknown => {
    const tool = findTool(entry);
    if (!isNamed(entry) || tool === undefined) return entry;
    const { arguments: given } = entry;
    const kept = habit === 'strict' ? dropOptionalNulls(given, tool.inputSchema) : given;
    return tool.name === entry.name && kept === given ? entry : { ...entry, name: tool.name, arguments: kept };
  };
  return (calls, habit) => calls.map((entry) => read(entry, habit));
};

type NamedCall = { readonly name: string; readonly arguments?: unknown };

const isNamed = (entry: unknown): entry is NamedCall =>
  typeof entry === 'object' && entry !== null && 'name' in entry && typeof entry.name === 'string';
