import type { ToolPending, ToolResult } from './wire.ts';

/** Reads results as they come, and tells once of each call that waits for a person. */
export const createTellApprovals = (onApproval: (waiting: ToolPending) => void) => {
  const told = new Set<string>();
  return (results: readonly ToolResult[]): void => {
    for (const result of results) {
      const id = result.outcome === 'pending' ? findApproval(result) : undefined;
      if (result.outcome !== 'pending' || id === undefined || told.has(id)) continue;
      told.add(id);
      onApproval(result);
    }
  };
};

// A service of another version may leave it out.
const findApproval = ({ pending }: Partial<Pick<ToolPending, 'pending'>>): string | undefined => pending?.approval?.id;
