import type { JournalLine, RoundJournal, UnpackRound } from '#src/executor/session-store.ts';

// 53 bits hold so many hexadecimal digits.
const DIGITS = 13;

/** The number that the end of this text of hexadecimal digits stands for. */
export const toHash = (digits: string): number => Number.parseInt(digits.slice(-DIGITS), 16);

/** A round's journal of these lines, which a shared store may keep packed unless it ends with refused calls; null where there are none. */
export const toRoundJournal = (lines: readonly JournalLine[]): RoundJournal | null => {
  if (lines.length === 0) return null;
  const packed = JSON.stringify(lines);
  const refused = lines.length - 1 - lines.findLastIndex(({ json }) => !json.includes('"outcome":"refused"'));
  return {
    lines: lines.length,
    refused,
    render: () => lines,
    pack: () => (refused === 0 ? packed : null),
  };
};

/** The lines of such a journal that was packed. */
export const unpackRound: UnpackRound = (packed) => JSON.parse(packed);
