import { type Unescape, unescapeBackslashes, unescapePercents } from './unescape-text.ts';

/** A text as it may be read: as it is, or without some of its escapes. */
export type Reading = {
  readonly text: string;
  /** Says where a place of the reading lies in the text that was given. */
  readonly locate: () => ToOriginal;
};
type ToOriginal = (place: number) => number;

// JSON in JSON in JSON, with addresses in it, has half as many. Of texts that are full of escapes of escapes some are left out.
const MAX_READINGS = 16;

/** Whether a text may have readings beside itself. Not by `includes`, which takes V8 three times as long. */
export const isEscaped = (text: string): boolean => text.indexOf('\\') !== -1 || text.indexOf('%') !== -1;

/** Whether a reading of the text is what is looked for: itself first, and then with fewer and fewer escapes. */
export const someReading = (text: string, isFound: (reading: Reading) => boolean): boolean => {
  const readings: Reading[] = [{ text, locate: () => (place) => place }];
  for (const reading of readings) {
    if (isFound(reading)) return true;
    if (!isEscaped(reading.text)) continue;
    addReading(readings, reading, unescapeBackslashes);
    addReading(readings, reading, unescapePercents);
  }
  return false;
};

const addReading = (readings: Reading[], reading: Reading, takeOut: Unescape): void => {
  const text = readings.length < MAX_READINGS ? takeOut(reading.text) : null;
  if (text === null || readings.some((known) => known.text === text)) return;
  readings.push({ text, locate: () => locateIn(reading, takeOut) });
};

// Only where something was found: writing down each escape takes as long again.
const locateIn = (reading: Reading, takeOut: Unescape): ToOriginal => {
  const toOriginal = reading.locate();
  const ends: number[] = [];
  const oldEnds: number[] = [];
  takeOut(reading.text, (end, oldEnd) => {
    ends.push(end);
    oldEnds.push(oldEnd);
  });
  return (place) => {
    const last = countUpTo(ends, place) - 1;
    return toOriginal((oldEnds[last] ?? 0) + place - (ends[last] ?? 0));
  };
};

/** How many of these rising numbers are not above a limit. */
const countUpTo = (rising: readonly number[], limit: number): number => {
  let from = 0;
  let to = rising.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rising[middle] ?? 0) <= limit) from = middle + 1;
    else to = middle;
  }
  return from;
};
