import { createPieceSlots, PIECE } from './piece-slots.ts';

/** Tells where in a text one of the forms may begin, from left to right, until `isEnough`; whether it was. */
export type QuickLook = (text: string, isEnough: (start: number) => boolean) => boolean;

const MAX_STEP = 13;

/**
 * Looks for texts of at least four characters each, at four characters in every few: however many texts there are, that
 * takes a nanosecond or less a character, where one expression of all took up to ten, and can be too large for V8.
 */
export const createQuickLook = (forms: readonly string[]): QuickLook => {
  const shortest = forms.reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY);
  // Wherever a form lies, one of its first pieces begins where this looks.
  const step = Math.min(shortest - PIECE + 1, MAX_STEP);
  const offsets = new Map<string, number[]>();
  // From the last: the form that begins first is told of first.
  for (let offset = step - 1; offset >= 0; offset -= 1)
    for (const form of forms) addOffset(offsets, form.slice(offset, offset + PIECE), offset);
  const mayStand = createPieceSlots(new Set(offsets.keys()));
  return (text, isEnough) => {
    const last = text.length - PIECE;
    for (let at = 0; at <= last; at += step) {
      if (!mayStand(text, at)) continue;
      const known = offsets.get(text.slice(at, at + PIECE));
      if (known?.some((offset) => offset <= at && isEnough(at - offset))) return true;
    }
    return false;
  };
};

const addOffset = (offsets: Map<string, number[]>, piece: string, offset: number): void => {
  const known = offsets.get(piece);
  if (known === undefined) offsets.set(piece, [offset]);
  else if (known.at(-1) !== offset) known.push(offset);
};
