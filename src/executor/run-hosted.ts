import type { HostedTool } from '../tools/tool.ts';
import type { RunOutcome, RunTerms } from './deadline.ts';

export type HostedTerms = RunTerms & {
  /** Whether an exception that the tool did not classify is a result like others (`on`) or fatal. */
  readonly graceful: 'on' | 'off';
};

/** Checks the arguments and runs the handler in a process of its own, under the deadline. Never rejects. */
export type RunHosted = (
  tool: HostedTool,
  input: Readonly<Record<string, unknown>>,
  terms: HostedTerms,
) => Promise<RunOutcome>;
