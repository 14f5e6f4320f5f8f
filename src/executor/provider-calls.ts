import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { createDropOptionalNulls } from './optional-nulls.ts';

/** How a provider's model was told of the tools: `strict` where their schemas made it name every property. */
export type ProviderHabit = 'plain' | 'strict';

/** What is meant by a call that was not written for this service. The call itself stays as it was asked for. */
export type CallReading = {
  /** The tool of that name, or else the one that providers know by it. */
  readonly findTool: (name: string) => Tool | undefined;
  /** The arguments as this service's own callers write them. */
  readonly readArguments: (given: unknown, tool: Tool) => unknown;
};

/** How the calls of a model with this habit are read. */
export type ReadProviderCalls = (habit: ProviderHabit) => CallReading;

/** For `strict`, arguments lose what stands for "left out". Whatever else they hold is left as it is, and judged later. */
export const createReadProviderCalls = (registry: Pick<ToolRegistry, 'find' | 'findPortable'>): ReadProviderCalls => {
  const dropOptionalNulls = createDropOptionalNulls();
  const findTool = (name: string): Tool | undefined => registry.find(name) ?? registry.findPortable(name);
  const plain: CallReading = { findTool, readArguments: (given) => given };
  const strict: CallReading = {
    findTool,
    readArguments: (given, { inputSchema }) => dropOptionalNulls(given, inputSchema),
  };
  return (habit) => (habit === 'strict' ? strict : plain);
};
