import { type Showing, toLine } from './plain-text.ts';

// RFC 2047: =?charset?B?base64?= and =?charset?Q?quoted?=, the charset with a language behind a star (RFC 2231).
const WORD = String.raw`=\?[^?\s]{1,60}\?[bq]\?[^?\s]*\?=`;
const WORDS = new RegExp(String.raw`${WORD}(?:\s+${WORD}|${WORD})*`, 'gi');
const PARTS = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bq])\?([^?\s]*)\?=/gi;
const MOST_READ = 8192;

/**
 * The value of a header as people read it. Gmail decodes what is well formed; words that it leaves as they came
 * (RFC 2047) are decoded here, and what cannot be decoded stays as it is.
 */
export const toHeaderLine = (value: string, showing: Showing): string =>
  toLine(value.slice(0, MOST_READ).replace(WORDS, decodeWords), showing);

/** Words in a row: blanks between them do not count, and a character may be split between two of one charset. */
const decodeWords = (words: string): string => {
  const runs: { readonly charset: string; bytes: Buffer }[] = [];
  for (const [, charset = '', encoding = '', content = ''] of words.matchAll(PARTS)) {
    const bytes = encoding.toUpperCase() === 'B' ? Buffer.from(content, 'base64') : decodeQ(content);
    const last = runs.at(-1);
    if (last?.charset === charset.toLowerCase()) last.bytes = Buffer.concat([last.bytes, bytes]);
    if (last?.charset !== charset.toLowerCase()) runs.push({ charset: charset.toLowerCase(), bytes });
  }
  const texts = runs.map(({ charset, bytes }) => decodeBytes(charset, bytes));
  return texts.every((text) => text !== null) ? texts.join('') : words;
};

const decodeQ = (content: string): Buffer =>
  Buffer.from(
    content
      .replaceAll('_', ' ')
      .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

const decodeBytes = (charset: string, bytes: Buffer): string | null => {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (thrown) {
    // A charset that nobody knows.
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
};
