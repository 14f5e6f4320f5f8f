import { toReducerTool } from '../../reducer-tool.ts';

// What a person reads at a glance; all of the journal stands beside the slices.
const MAX_CALLS = 50;

/** The last 50 calls, oldest first, with what a person wants to know of each. */
export const timeline = toReducerTool({
  name: 'timeline',
  description: `The last ${MAX_CALLS} calls, oldest first.`,
  fold: (entries) =>
    entries.slice(-MAX_CALLS).map(({ step, time, tool, outcome, code, retries_left, duration_ms, message }) => ({
      step,
      time,
      tool,
      outcome,
      code,
      retries_left,
      duration_ms,
      message,
    })),
});
