import { createReducerTool } from './define-reducer.ts';
import type { InlineTool } from './tool.ts';

/** The reducers every service has. */
export const createBuiltinReducers = (): readonly InlineTool[] => [FAILURES_BY_TOOL, LAST_SUCCESS, TIMELINE];

/** `{ [tool]: { [code]: count } }`. Calls without a name are `_unknown`. */
const FAILURES_BY_TOOL = createReducerTool('failures_by_tool', 'How often each tool failed, by code.', (entries) => {
  const failures = entries.flatMap(({ tool, code, repeats = 1 }) =>
    code === null ? [] : [{ tool: tool ?? '_unknown', code, repeats }],
  );
  const byTool = [...Map.groupBy(failures, ({ tool }) => tool)].map(([tool, ofTool]) => {
    const counts = [...Map.groupBy(ofTool, ({ code }) => code)].map(([code, alike]) => [
      code,
      alike.reduce((sum, { repeats }) => sum + repeats, 0),
    ]);
    return [tool, Object.fromEntries(counts)];
  });
  return Object.fromEntries(byTool);
});

/** `{ tool, step, time, request_id, index }`; null where none succeeded. */
const LAST_SUCCESS = createReducerTool('last_success', 'The last call that succeeded.', (entries) => {
  const last = entries.findLast(({ success }) => success);
  if (last === undefined) return null;
  const { tool, step, time, request_id, index } = last;
  return { tool, step, time, request_id, index };
});

// What a person reads at a glance; all of the journal stands beside the slices.
const MAX_CALLS = 50;

/** The last 50 calls, oldest first, with what a person wants to know of each. */
const TIMELINE = createReducerTool('timeline', `The last ${MAX_CALLS} calls, oldest first.`, (entries) =>
  entries.slice(-MAX_CALLS).map(({ step, time, tool, outcome, code, retries_left, duration_ms, message, repeats }) => ({
    step,
    time,
    tool,
    outcome,
    code,
    retries_left,
    duration_ms,
    message,
    ...(repeats === undefined ? {} : { repeats }),
  })),
);
