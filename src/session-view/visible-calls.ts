import type { JournalEntry } from '../contract/session.ts';

/**
 * The calls that may be seen by who may use these tools: those of other tools are left out, and where a call was not
 * executed because one of those had failed, its message names none.
 */
export const toVisibleCalls = (
  entries: readonly JournalEntry[],
  mayUse: (tool: string) => boolean,
): readonly JournalEntry[] =>
  entries
    .filter(({ tool, name }) => (tool === null ? name === null || mayUse(name) : mayUse(tool)))
    .map((entry) => (namesAnother(entry, mayUse) ? { ...entry, message: NAMELESS_TEXT } : entry));

const NAMELESS_TEXT = 'Not executed: a preceding call failed.';

// Long names were cut in the journal, and the end of the sentence with them.
const PRECEDING = /^Not executed: the preceding call to '(.*?)(?:' failed\.)?$/s;

const namesAnother = ({ code, message }: JournalEntry, mayUse: (tool: string) => boolean): boolean =>
  code === 'not_executed' && !mayUse(PRECEDING.exec(message)?.[1] ?? '');
