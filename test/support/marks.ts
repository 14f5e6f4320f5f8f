import type { JournalLine, RoundJournal } from '#src/executor/journal/round-lines.ts';
import type { AnswerMark, Streak } from '#src/executor/session-store.ts';

// 53 bits hold so many hexadecimal digits.
const DIGITS = 13;

/** A mark whose digest is this text of hexadecimal digits, and whose print is the number that its end stands for. */
export const toMark = (digest: string): AnswerMark => ({
  print: toPrint(digest),
  digest: () => digest,
});

const toPrint = (digest: string): number => Number.parseInt(digest.slice(-DIGITS), 16);

/** What stands for an answer, in one form for all stores. */
export const toPlainAnswer = (answer: Streak['answer']): Streak['answer'] =>
  typeof answer === 'number' || answer === '' ? answer : toPrint(answer);

/** A round's journal of these lines; null where there are none. */
export const toRoundJournal = (lines: readonly JournalLine[]): RoundJournal | null =>
  lines.length === 0 ? null : { lines: lines.length, bytes: JSON.stringify(lines).length, render: () => lines };
