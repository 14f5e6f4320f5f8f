import type { Tool } from '../tools/tool.ts';

export type ConcurrencySettings = {
  /** Calls that run at once, over all tools and callers. */
  readonly maxConcurrentCalls: number;
  /** Calls of one caller that run at once, over all tools. */
  readonly callerConcurrency: number;
  /** Calls of one tool that run at once where the tool says nothing else. */
  readonly toolConcurrency: number;
  /** Calls that tool hosts run at once, over all hosted tools. */
  readonly maxHostedCalls: number;
};

/** How many calls of a tool may run at once. */
export type ConcurrencyLimit = (tool: Pick<Tool, 'concurrency' | 'runsIn' | 'upstream'>) => number;

/** The tool's own word, else the service's. Never more than the service, its hosts, or the upstream that it talks to, run at all. */
export const createConcurrencyLimit = (settings: ConcurrencySettings): ConcurrencyLimit => {
  const { maxConcurrentCalls, toolConcurrency, maxHostedCalls } = settings;
  return ({ concurrency, runsIn, upstream }) => {
    const most = Math.min(maxConcurrentCalls, upstream?.concurrency ?? maxConcurrentCalls);
    return Math.min(concurrency ?? toolConcurrency, most, runsIn === 'host' ? maxHostedCalls : most);
  };
};
