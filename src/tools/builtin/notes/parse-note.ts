import { basename, extname } from 'node:path/posix';

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
export const toTitle = (path: string, text: string): string => {
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
