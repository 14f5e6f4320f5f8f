import { type Term, type Word, wordsOf } from '../note-text.ts';

const MARKS = { open: '«', close: '»' } as const;

const MAX_CHARACTERS = 320;
const BEFORE_MATCH = 80;
// A cut is moved so far at most to stand between words.
const MAX_MOVE = 20;
// Enough to find a place where several stand together; a note may be one word fifty thousand times.
const MOST_OF_A_TERM = 8;

type Match = { readonly start: number; readonly end: number; readonly term: number };
type Phrase = { readonly words: readonly string[]; readonly isPrefix: boolean };

/**
 * The place of a text where most of the terms stand close together, on one line, each match between « and »; the
 * beginning of the text where none is found. Takes time in proportion to the text: FTS5's own `snippet()` takes the
 * square of the matches.
 */
export const makeSnippet = (text: string, terms: readonly Term[]): string => {
  const matches = findMatches(text, terms.map(toPhrase));
  const from = findStart(text, findBest(matches)?.start ?? 0);
  const to = findEnd(text, from + MAX_CHARACTERS);
  const line = markMatches(text, matches, { from, to }).replaceAll(/\s+/g, ' ').trim();
  return `${from > 0 ? '…' : ''}${line}${to < text.length ? '…' : ''}`.toWellFormed();
};

const toPhrase = ({ text, isPrefix }: Term): Phrase => ({
  words: [...wordsOf(text)].map(({ folded }) => folded),
  isPrefix,
});

const findMatches = (text: string, phrases: readonly Phrase[]): readonly Match[] => {
  const matches: Match[] = [];
  const longest = Math.max(1, ...phrases.map(({ words }) => words.length));
  const latest: Word[] = [];
  let sought = phrases.map((phrase, term) => ({ phrase, term, found: 0 }));
  for (const word of wordsOf(text)) {
    if (sought.length === 0) break;
    latest.push(word);
    if (latest.length > longest) latest.shift();
    const ended = sought.filter(({ phrase }) => endsWith(latest, phrase));
    for (const one of ended) {
      one.found += 1;
      matches.push({ start: latest.at(-one.phrase.words.length)?.start ?? word.start, end: word.end, term: one.term });
    }
    if (ended.length > 0) sought = sought.filter(({ found }) => found < MOST_OF_A_TERM);
  }
  return matches;
};

const endsWith = (latest: readonly Word[], { words, isPrefix }: Phrase): boolean => {
  const last = latest.at(-1)?.folded ?? '';
  const wanted = words.at(-1);
  // The last first: nearly all fail there.
  if (wanted === undefined || !(isPrefix ? last.startsWith(wanted) : last === wanted)) return false;
  const skipped = latest.length - words.length;
  return skipped >= 0 && words.slice(0, -1).every((word, at) => latest[skipped + at]?.folded === word);
};

const findBest = (matches: readonly Match[]): Match | undefined => {
  const scores = matches.map(({ start }) => {
    const near = matches.filter((other) => other.start >= start && other.end <= start + MAX_CHARACTERS - BEFORE_MATCH);
    return new Set(near.map(({ term }) => term)).size;
  });
  return matches[scores.indexOf(Math.max(...scores))];
};

const findStart = (text: string, matchStart: number): number => {
  const from = matchStart - BEFORE_MATCH;
  if (from <= 0) return 0;
  const blank = text.slice(from, from + MAX_MOVE).search(/\s/);
  return blank === -1 ? from : from + blank + 1;
};

const findEnd = (text: string, most: number): number => {
  if (most >= text.length) return text.length;
  const blank = text.slice(most - MAX_MOVE, most).search(/\s\S*$/);
  return blank === -1 ? most : most - MAX_MOVE + blank;
};

type Range = { readonly from: number; readonly to: number };

const markMatches = (text: string, matches: readonly Match[], { from, to }: Range): string => {
  let marked = '';
  let at = from;
  for (const { start, end } of matches.toSorted((one, other) => one.start - other.start)) {
    if (start < at || start >= to) continue;
    const close = Math.min(end, to);
    marked += `${text.slice(at, start)}${MARKS.open}${text.slice(start, close)}${MARKS.close}`;
    at = close;
  }
  return marked + text.slice(at, to);
};
