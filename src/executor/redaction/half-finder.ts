import { createPieceSlots, PIECE } from './piece-slots.ts';
import type { TextRange } from './text-ranges.ts';

/** Finds the beginnings of forms that an ellipsis cuts off, from left to right. */
export type FindHalves = (text: string) => readonly TextRange[];

const ELLIPSIS = '…';

/** Less than a piece is left where it stands: so little of a form stands before an ellipsis by chance. */
export const createHalfFinder = (forms: readonly string[]): FindHalves => {
  // In the order of their characters, so that all that begin alike stand together.
  const sorted = forms.toSorted();
  const longest = forms.reduce((most, { length }) => Math.max(most, length), 0);
  const beginnings = new Set(forms.map((form) => form.slice(0, PIECE)));
  const mayStand = createPieceSlots(beginnings);
  const findStart = (text: string, from: number, end: number): number => {
    for (let start = from; start + PIECE <= end; start += 1) {
      if (!mayStand(text, start) || !beginnings.has(text.slice(start, start + PIECE))) continue;
      if (isBeginning(sorted, text.slice(start, end))) return start;
    }
    return -1;
  };
  return (text) => {
    const halves: TextRange[] = [];
    let from = 0;
    for (let end = text.indexOf(ELLIPSIS); end !== -1; end = text.indexOf(ELLIPSIS, from)) {
      // Each character is looked at for one ellipsis only, however many there are.
      const start = findStart(text, Math.max(from, end - longest), end);
      if (start !== -1) halves.push({ start, end });
      from = end + 1;
    }
    return halves;
  };
};

/** Whether one of the sorted forms begins with this text. */
const isBeginning = (sorted: readonly string[], text: string): boolean => {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < text) from = middle + 1;
    else to = middle;
  }
  return sorted[from]?.startsWith(text) ?? false;
};
