import type { Tool, ToolFacts } from './tool.ts';

/** A tool that is known of and cannot be called, and why: one line for people. */
export type UnavailableTool = { readonly facts: ToolFacts; readonly reason: string };

/** What a tools directory, or another source of tools, has to offer at one moment. */
export type ToolOffer = {
  /** Tools and reducers, as each says of itself. */
  readonly tools: readonly Tool[];
  readonly unavailable: readonly UnavailableTool[];
  /** Tool name → why its newest version does not serve; the one before it does. */
  readonly outdated: ReadonlyMap<string, string>;
  /** Tool name → why what it talks to cannot be reached now. It serves, and each call says so. */
  readonly unreachable?: ReadonlyMap<string, string>;
};

/** How many calls of a tool run at once; null = as many as come. */
export type ConcurrencyOf = (tool: Tool) => number | null;
