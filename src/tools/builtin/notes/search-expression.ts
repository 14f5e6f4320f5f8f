import { showText } from '../../http/show-url.ts';
import { RetryableToolError } from '../../tool-errors.ts';

/** A query as FTS5 reads it. https://sqlite.org/fts5.html#full_text_query_syntax */
export type SearchExpression = {
  /** Notes that have every word; null where the query asks for any of them. */
  readonly all: string | null;
  /** Notes that have at least one. */
  readonly any: string;
};

// Sixteen of the commonest words cost some 50 ms over ten thousand notes.
const MAX_TERMS = 16;
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
export const toSearchExpression = (query: string): SearchExpression => {
  // A NUL would end the text for SQLite.
  const pieces = [
    ...query
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .matchAll(PIECE),
  ].map(toPiece);
  const wantsAny = pieces.some(({ isOr }) => isOr);
  const terms = [...new Set(pieces.flatMap(({ term }) => (term === null ? [] : [term])))];
  checkTerms(query, terms);
  return { all: wantsAny ? null : terms.join(' AND '), any: terms.join(' OR ') };
};

type Piece = { readonly term: string | null; readonly isOr: boolean };

const toPiece = ([, phrase, phraseStar, word, wordStar]: RegExpMatchArray): Piece => {
  if (word === 'OR' || word === 'AND') return { term: null, isOr: word === 'OR' };
  const text = phrase ?? word ?? '';
  if (!WORD_CHARACTER.test(text)) return { term: null, isOr: false };
  const star = (phraseStar ?? wordStar) === '*';
  if (star) checkPrefix(text);
  return { term: `"${text}"${star ? ' *' : ''}`, isOr: false };
};

const checkPrefix = (text: string): void => {
  const last = text.split(/[^\p{L}\p{N}\p{Co}\p{M}]+/u).findLast((part) => part !== '') ?? '';
  if ([...last].length >= MIN_PREFIX_LETTERS || IDEOGRAPHIC.test(last)) return;
  throw new RetryableToolError(
    `'${showText(last)}*' is too short a beginning of a word. Write at least ${MIN_PREFIX_LETTERS} letters before the *.`,
  );
};

const checkTerms = (query: string, terms: readonly string[]): void => {
  if (terms.length === 0)
    throw new RetryableToolError(
      `The query '${showText(query)}' holds no word. Send words to look for, such as: release plan, "exact phrase", budg*.`,
    );
  if (terms.length > MAX_TERMS)
    throw new RetryableToolError(
      `The query has ${terms.length} words. Send the ${MAX_TERMS} that matter most at the most.`,
    );
  if (terms.filter((term) => term.endsWith('*')).length > MAX_PREFIXES)
    throw new RetryableToolError(`The query has more than ${MAX_PREFIXES} words with a *. Write some of them out.`);
};
