import { basename, extname } from 'node:path/posix';

const NOTE_NAME = /\.(md|markdown)$/i;

/** Whether a file of this name is taken for a note. */
export const isNoteName = (name: string): boolean => NOTE_NAME.test(name) && !name.startsWith('.');

/** What programs keep beside notes (.git, .obsidian, .trash) and what machines fill. */
const isHiddenName = (name: string): boolean => name.startsWith('.') || name === 'node_modules';

/** Whether no part of a plain path below the root is hidden. `.`, the root itself, is not. */
export const isOpenPath = (path: string): boolean => path === '.' || !path.split('/').some(isHiddenName);

/** What is looked for: a word, or words that follow each other; with a star, words that begin so. */
export type Term = { readonly text: string; readonly isPrefix: boolean };

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

// A title stands at the beginning, if anywhere.
const LOOKED_AT = 8192;
const MAX_TITLE = 200;

/**
 * The text of a note's bytes; undefined where they are binary (a NUL). Bytes that are no UTF-8 become U+FFFD: a note
 * with one broken letter is still a note, and nothing is ever written back.
 */
export const toNoteText = (bytes: Uint8Array): string | undefined =>
  bytes.includes(0) ? undefined : new TextDecoder().decode(bytes);

/** What a note is called: `title:` of its front matter, else its first heading, else its file name without ending. */
export const findTitle = (path: string, text: string): string => {
  const lines = text.slice(0, LOOKED_AT).split(/\r?\n/);
  const title = findFrontTitle(lines) ?? findHeading(lines) ?? toStem(path);
  return title.slice(0, MAX_TITLE).toWellFormed();
};

/** The file name without its ending. */
export const toStem = (path: string): string => basename(path, extname(path));

const findFrontTitle = (lines: readonly string[]): string | undefined => {
  if (lines[0]?.trimEnd() !== '---') return undefined;
  for (const line of lines.slice(1)) {
    if (line.startsWith('---') || line.startsWith('...')) return undefined;
    if (line.startsWith('title:')) return unquote(line.slice('title:'.length).trim()) || undefined;
  }
  return undefined;
};

const unquote = (text: string): string => {
  const quote = text[0];
  const isQuoted = text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1).trim() : text;
};

const findHeading = (lines: readonly string[]): string | undefined => {
  let isCode = false;
  for (const line of lines) {
    if (/^ {0,3}(```|~~~)/.test(line)) isCode = !isCode;
    if (isCode || !/^ {0,3}#{1,6}[ \t]/.test(line)) continue;
    const heading = line.trim().replace(/^#+/, '').trim();
    // A closing row of # belongs to the form, one inside the words to the words.
    const title = heading.endsWith('#') ? trimClosing(heading) : heading;
    if (title !== '') return title;
  }
  return undefined;
};

const trimClosing = (heading: string): string => {
  let end = heading.length;
  while (heading[end - 1] === '#') end -= 1;
  return end === 0 || heading[end - 1] === ' ' ? heading.slice(0, end).trim() : heading;
};
