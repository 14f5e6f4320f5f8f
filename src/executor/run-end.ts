import type { Issue } from '../contract/tool-result.ts';
import type { ToolContext } from '../tools/tool.ts';
import type { BatchEnd } from './batch-end.ts';
import type { CallEnd } from './call-end.ts';

/** How running a handler ended, as a value. The first cause wins. */
export type RunEnd =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly thrown: unknown }
  | { readonly kind: 'invalid_arguments'; readonly issues: readonly Issue[] }
  | { readonly kind: 'invalid_output'; readonly issues: readonly Issue[] }
  /** Another process ran it and has said what came of it, or its death says so. */
  | { readonly kind: 'ended'; readonly end: CallEnd }
  | { readonly kind: 'timed_out'; readonly limitMs: number; readonly late: Promise<RunEnd | null> }
  | { readonly kind: 'cut_off'; readonly late: Promise<RunEnd | null> };

export type RunTerms = {
  /** What the handler gets, and the way to tell it through its signal that nobody waits any longer. */
  readonly context: ToolContext & { readonly abort: (reason: Error) => void };
  readonly timeoutMs: number;
  readonly end: BatchEnd;
};
