import { toReducerTool } from '../../reducer-tool.ts';

/** The last call that succeeded, `{ tool, step, time, request_id, index }`; null where none did. */
export const lastSuccess = toReducerTool({
  name: 'last_success',
  description: 'The last call that succeeded.',
  fold: (entries) => {
    const last = entries.findLast(({ success }) => success);
    if (last === undefined) return null;
    const { tool, step, time, request_id, index } = last;
    return { tool, step, time, request_id, index };
  },
});
