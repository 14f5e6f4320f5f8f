import { createFormIndex } from './form-index.ts';
import { createHalfFinder } from './half-finder.ts';
import { createQuickLook } from './quick-look.ts';
import { addRange, replaceRanges, type TextRange } from './text-ranges.ts';
import { isEscaped, someReading } from './text-readings.ts';

/** Finds registered values in a text, however many escapes of JSON and URLs it is written with. */
export type SecretFinder = {
  /** Whether the text holds one. */
  readonly isIn: (text: string) => boolean;
  readonly replace: (text: string) => string;
  /** Replaces the beginning of one where an ellipsis cuts it off, too. */
  readonly replaceCutOff: (text: string) => string;
};

const INSTEAD = '[redacted]';

type FindRanges = (text: string) => readonly TextRange[];

/** A finder of these texts, each at least eight characters long; null where there are none. */
export const createSecretFinder = (forms: readonly string[]): SecretFinder | null => {
  if (forms.length === 0) return null;
  const look = createQuickLook(forms);
  const measureIn = createFormIndex(forms);
  const findWhole: FindRanges = (text) => {
    const ranges: TextRange[] = [];
    const measure = measureIn(text);
    look(text, (start) => {
      const length = measure(start);
      if (length > 0) addRange(ranges, { start, end: start + length });
      return false;
    });
    return ranges;
  };
  const holds = (text: string): boolean => {
    const measure = measureIn(text);
    return look(text, (start) => measure(start) > 0);
  };
  const isIn = (text: string): boolean =>
    holds(text) || (isEscaped(text) && someReading(text, (reading) => reading.text !== text && holds(reading.text)));
  const findHalves = createHalfFinder(forms);
  const replace = (text: string): string => (isIn(text) ? replaceFound(text, findWhole) : text);
  return {
    isIn,
    replace,
    replaceCutOff: (text) =>
      text.includes('…') ? replaceFound(text, (read) => [...findWhole(read), ...findHalves(read)]) : replace(text),
  };
};

const replaceFound = (text: string, find: FindRanges): string => {
  const ranges: TextRange[] = [];
  someReading(text, (reading) => {
    const found = find(reading.text);
    const toOriginal = found.length === 0 ? null : reading.locate();
    for (const { start, end } of found)
      if (toOriginal !== null) ranges.push({ start: toOriginal(start), end: toOriginal(end) });
    return false;
  });
  return ranges.length === 0 ? text : replaceRanges(text, ranges, INSTEAD);
};
