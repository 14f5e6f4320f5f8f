import { type Placing, type Tool, type ToolFacts, UNSTATED } from './tool.ts';

/** Why somebody keeps a tool from being called that would serve: the configuration file, or a change nobody has approved. */
export type Withholding = 'switched_off' | 'held';

/** A tool that is known of and cannot be called, and why: one line for people. */
export type UnavailableTool = {
  readonly facts: ToolFacts;
  readonly reason: string;
  /** As models are told of it; left out: it cannot serve, which is a failure of the tool. */
  readonly withheld?: Withholding;
};

/** A tool that could not be loaded, of which no more is known than its name: the most cautious is said of it. */
export const createUnloadedTool = (
  about: Pick<ToolFacts, 'name' | 'description' | 'source'>,
  reason: string,
): UnavailableTool => ({
  facts: {
    ...UNSTATED,
    ...about,
    role: 'tool',
    effects: 'write',
    inputSchema: { type: 'object' },
    timeoutMs: 30_000,
    exampleArguments: '{}',
  },
  reason,
});

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

/** Where calls of a tool run now; null for a tool that runs inside the service. */
export type PlacingOf = (tool: Tool) => Placing | null;
