import type { JournalEntry } from '../../../contract/session.ts';
import { toReducerTool } from '../../reducer-tool.ts';

/** How often each tool failed in which way: `{ [tool]: { [code]: count } }`. Calls without a name are `_unknown`. */
export const failuresByTool = toReducerTool({
  name: 'failures_by_tool',
  description: 'How often each tool failed, by code.',
  fold: (entries) => {
    const counts = new Map<string, Map<string, number>>();
    for (const { tool, code } of entries) if (code !== null) count(counts, tool ?? '_unknown', code);
    return Object.fromEntries([...counts].map(([tool, codes]) => [tool, Object.fromEntries(codes)]));
  },
});

type Code = NonNullable<JournalEntry['code']>;

const count = (counts: Map<string, Map<string, number>>, tool: string, code: Code): void => {
  const codes = counts.get(tool) ?? new Map<string, number>();
  counts.set(tool, codes.set(code, (codes.get(code) ?? 0) + 1));
};
