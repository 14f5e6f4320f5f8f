import type { ToolOffer } from '../tool-offer.ts';

/** Told all that a source offers, whenever that changes. What it offered before counts no more. */
export type Publish = (offer: ToolOffer) => void;

/** How the place stands that a source has its tools from. */
export type UpstreamState = {
  /** As in `Tool.upstream`: `mcp:github`, `openapi:petstore`. */
  readonly name: string;
  /** `up`: it answered when last asked. `held`: it is up, and something it offers waits for approval. */
  readonly status: 'connecting' | 'up' | 'down' | 'held';
  /** One line for people where it is not `up`. */
  readonly reason: string | null;
  /** Tools it offers now. */
  readonly tools: number;
  /** How often the connection was made again. */
  readonly reconnects: number;
};

/** A place that tools come from while the service runs. */
export type ToolSource = {
  /** Resolves with the first offer, or once it is known that there is none for now; never rejects. Goes on trying. */
  readonly start: () => Promise<void>;
  /** From now on nothing is published; processes and connections end. Never rejects. */
  readonly stop: () => Promise<void>;
  /** Ends its processes at once, without waiting for it: for a process that exits. Left out: it has none. */
  readonly kill?: () => void;
  readonly state: () => UpstreamState;
};
