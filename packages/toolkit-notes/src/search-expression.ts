import { showText } from '@recourse/toolkit-kit/http';
import { RetryableToolError } from 'recourse-server';
import { type Term, wordsOf } from './note-text.ts';

/** What a query looks for. */
export type SearchExpression = {
  /** Each once, and at least one. None holds a quotation mark. */
  readonly terms: readonly Term[];
  /** Whether one of them is enough. */
  readonly wantsAny: boolean;
};

// Sixteen of the commonest words cost some 50 ms over ten thousand notes.
const MAX_TERMS = 16;
// A phrase is compared word by word, wherever its words stand.
const MAX_WORDS = 64;
// Each is a search for every word that begins so: thirty-two of one letter took ninety seconds.
const MAX_PREFIXES = 4;
const MIN_PREFIX_LETTERS = 3;
// unicode61 takes letters, numbers and private characters for parts of words.
const WORD_CHARACTER = /[\p{L}\p{N}\p{Co}]/u;
// From here on scripts write without blanks, and one character says as much as a syllable or a word.
const IDEOGRAPHIC = /[\u2E80-\u{3FFFF}]/u;
// A phrase in double quotes, straight or curly, whose last one may be missing; or what stands between blanks and
// punctuation. One star after it asks for words that begin so.
const PIECE = /["“”„]([^"“”„]*)["“”„]?(\*?)|([^\s"“”„:;,!?()[\]{}<>|&^=+*]+)(\*?)/gu;

/**
 * Reads a query as a model writes it: words, "quoted phrases", beginnings*. Nothing in it is an operator but a lone OR
 * and AND, so nothing can be a syntax error. Throws RetryableToolError where it holds no word, or too many.
 */
export const parseSearchExpression = (query: string): SearchExpression => {
  // A NUL would end the text for SQLite.
  const pieces = [
    ...query
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .matchAll(PIECE),
  ].map(readPiece);
  const wantsAny = pieces.some(({ isOr }) => isOr);
  const found = pieces.flatMap(({ term }) => (term === null ? [] : [term]));
  const terms = [...new Map(found.map((term) => [JSON.stringify(term), term])).values()];
  refuseTooManyTerms(query, terms);
  return { terms, wantsAny };
};

type Piece = { readonly term: Term | null; readonly isOr: boolean };

const readPiece = ([, phrase, phraseStar, word, wordStar]: RegExpMatchArray): Piece => {
  if (word === 'OR' || word === 'AND') return { term: null, isOr: word === 'OR' };
  const text = phrase ?? word ?? '';
  if (!WORD_CHARACTER.test(text)) return { term: null, isOr: false };
  const isPrefix = (phraseStar ?? wordStar) === '*';
  if (isPrefix) checkPrefix(text);
  return { term: { text, isPrefix }, isOr: false };
};

const checkPrefix = (text: string): void => {
  const last = text.split(/[^\p{L}\p{N}\p{Co}\p{M}]+/u).findLast((part) => part !== '') ?? '';
  if ([...last].length >= MIN_PREFIX_LETTERS || IDEOGRAPHIC.test(last)) return;
  throw new RetryableToolError(
    `The prefix '${showText(last)}*' is too short. Write at least ${MIN_PREFIX_LETTERS} letters before the *.`,
  );
};

const refuseTooManyTerms = (query: string, terms: readonly Term[]): void => {
  if (terms.length === 0)
    throw new RetryableToolError(
      `The query '${showText(query)}' contains no word. Send words to search, such as: release plan, "exact phrase", budg*.`,
    );
  if (terms.length > MAX_TERMS)
    throw new RetryableToolError(
      `The query has ${terms.length} words. Send only the ${MAX_TERMS} most important ones.`,
    );
  const words = terms.reduce((count, { text }) => count + [...wordsOf(text)].length, 0);
  if (words > MAX_WORDS)
    throw new RetryableToolError(`The query has phrases of ${words} words together. Send at most ${MAX_WORDS}.`);
  if (terms.filter(({ isPrefix }) => isPrefix).length > MAX_PREFIXES)
    throw new RetryableToolError(`The query has more than ${MAX_PREFIXES} words with a *. Write some words in full.`);
};
