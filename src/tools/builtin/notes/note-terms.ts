import * as z from 'zod';

/** What is looked for: a word, or words that follow each other; with a star, words that begin so. */
export const Term = z.object({ text: z.string(), isPrefix: z.boolean() });
export type Term = z.output<typeof Term>;

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/v;
const EACH_UNSPACED = new RegExp(UNSPACED, 'gv');
const WORD = new RegExp(`[[\\p{L}\\p{N}\\p{Co}\\p{M}]--${UNSPACED.source}]+|${UNSPACED.source}`, 'gv');

/**
 * Blanks around each character of a script that writes words without blanks (漢字): each is a word then, and a run of
 * them is found as a phrase wherever it stands.
 */
export const separateWords = (text: string): string =>
  UNSPACED.test(text) ? text.normalize('NFC').replaceAll(EACH_UNSPACED, ' $& ') : text;

export type Word = { readonly folded: string; readonly start: number; readonly end: number };

/** The words of a text as the index takes them: case and accents do not matter. */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const folded = fold(word);
    if (folded !== '') yield { folded, start: index, end: index + word.length };
  }
}

const fold = (word: string): string =>
  /^[\0-\x7f]*$/.test(word) ? word.toLowerCase() : word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
