import type { Budget, JournalLine } from '../../executor/session-store.ts';

/** The line as the journal keeps it, with what its tool has left after the round. journal.lua is the twin. */
export const toJournalText = ({ tool, json }: JournalLine, budgets: ReadonlyMap<string, Budget>): string => {
  const left = tool === null ? undefined : budgets.get(tool)?.remaining;
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"retries_left":${left ?? 'null'}}`;
};
