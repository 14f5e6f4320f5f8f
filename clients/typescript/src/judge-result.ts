import type { ToolResult } from './wire.ts';

/** A better call of this tool may work, and the session has a retry left for it. */
export const isRetryable = ({ outcome, retry }: Pick<ToolResult, 'outcome' | 'retry'>): boolean =>
  // Without a state of the budget none was consulted, and none is used up.
  outcome === 'retry' && retry?.allowed !== false;

/** The tool wants the whole run of the agent to end. */
export const isFatal = ({ error }: Pick<ToolResult, 'error'>): boolean => error?.fatal === true;

/** The handler ran, or nobody knows. For a tool that writes: making the call again could do it twice. */
export const mayHaveRun = ({ executed }: Pick<ToolResult, 'executed'>): boolean => executed !== 'no';
