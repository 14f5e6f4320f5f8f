import { stripVTControlCharacters } from 'node:util';
import { cutAtWord, showText } from '../http/show-url.ts';

const MOST_CHARACTERS = 200;

/** What a program says after the line that matters: its stack, marks without a letter, its runtime, where its log is. */
const NO_WORDS = [/^\s/, /^\P{L}*$/u, /^Node\.js v\d/, /complete log of this run/];
// What went wrong first is often a line above: a folder that is missing, then that there is none left.
const TROUBLE = /^(?:warn(?:ing)?|error|fatal)\b/i;

export type LastWords = {
  readonly hear: (line: string) => void;
  /** One line, printable, cut; "" where nothing was said. */
  readonly told: () => string;
};

/** Keeps the last line of stderr that says something, most often why a program ends; and a warning just before it. */
export const createLastWords = (): LastWords => {
  let last = '';
  let before = '';
  return {
    hear: (line) => {
      const plain = stripVTControlCharacters(line);
      if (NO_WORDS.some((pattern) => pattern.test(plain))) return;
      before = TROUBLE.test(last) ? last : '';
      last = plain;
    },
    told: () =>
      [before, last]
        .filter((line) => line !== '')
        .map(toShown)
        .join('; '),
  };
};

const toShown = (line: string): string => cutAtWord(showText(line, line.length), MOST_CHARACTERS);
