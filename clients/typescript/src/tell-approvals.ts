import type { ToolPending, ToolResult } from './wire.ts';

/** Reads results as they come, and tells once of each call that waits for a person. */
export const createTellApprovals = (onApproval: (waiting: ToolPending) => void) => {
  const told = new Set<string>();
  return (results: readonly ToolResult[]): void => {
    for (const result of results) {
      const id = result.outcome === 'pending' ? result.pending.approval?.id : undefined;
      if (result.outcome !== 'pending' || id === undefined || told.has(id)) continue;
      told.add(id);
      onApproval(result);
    }
  };
};
