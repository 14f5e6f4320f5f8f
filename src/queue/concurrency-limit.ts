import type { Tool } from '../tools/tool.ts';

export type ConcurrencySettings = {
  /** Calls that run at once, over all tools and callers. */
  readonly maxConcurrentCalls: number;
  /** Calls of one tool that run at once where the tool says nothing else. */
  readonly toolConcurrency: number;
  /** Calls that tool hosts run at once, over all hosted tools. */
  readonly maxHostedCalls: number;
};

/** How many calls of a tool may run at once. */
export type ConcurrencyLimit = (tool: Pick<Tool, 'concurrency' | 'runsIn' | 'upstream'>) => number;

/**
 * The tool's own word, else the service's; a hosted tool that says nothing gets half of the hosts at most, so that one
 * that hangs leaves the others something to run in. Never more than the service, its hosts, or the upstream that it
 * talks to, run at all.
 */
export const createConcurrencyLimit = (settings: ConcurrencySettings): ConcurrencyLimit => {
  const { maxConcurrentCalls, toolConcurrency, maxHostedCalls } = settings;
  const half = Math.max(1, Math.floor(maxHostedCalls / 2));
  return ({ concurrency, runsIn, upstream }) => {
    const most = Math.min(maxConcurrentCalls, upstream?.concurrency ?? maxConcurrentCalls);
    return runsIn === 'host'
      ? Math.min(concurrency ?? Math.min(toolConcurrency, half), maxHostedCalls, most)
      : Math.min(concurrency ?? toolConcurrency, most);
  };
};
