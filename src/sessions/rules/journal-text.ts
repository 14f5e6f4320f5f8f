import type { JournalLine, RoundJournal } from '../../executor/journal/round-lines.ts';
import type { SessionSettings } from '../../executor/session-store.ts';

// Late results have lines of their own, and are few: so many of them push no call out.
const LATE_LINES = 32;

/** How many lines are kept, so that those of the last calls are among them; 0 = no journal. */
export const toMaxLines = ({ journal }: Pick<SessionSettings, 'journal'>): number =>
  journal === 0 ? 0 : journal + LATE_LINES;

/** The lines of a round that are kept: the last ones. */
export const toLines = (
  journal: RoundJournal | null,
  { journal: most }: Pick<SessionSettings, 'journal'>,
): readonly JournalLine[] => (journal === null ? [] : journal.render().slice(-most));

/** The line as the journal keeps it, with what its tool has left after the round. journal.lua is the twin. */
export const toJournalText = ({ tool, json }: JournalLine, retriesLeftOf: (tool: string) => number | null): string => {
  const left = tool === null ? null : retriesLeftOf(tool);
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"retries_left":${left ?? 'null'}}`;
};
