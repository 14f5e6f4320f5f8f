import { setImmediate } from 'node:timers/promises';
import { cutText } from '@recourse/toolkit-kit/page-answers';
import * as z from 'zod';
import type { HideSecrets } from './hide-secrets.ts';

/** Text as an argument that goes into a request: half a surrogate pair, such as half an emoji, has no form in UTF-8. */
export const WellFormedText = z
  .string()
  .refine((text) => text.isWellFormed(), 'contains half a character (a lone surrogate); send the whole character');

/** What `map` gives for each item, one after the other, with room for all else that is to be done between them. */
export const mapInSteps = async <Item, Mapped>(
  items: readonly Item[],
  map: (item: Item) => Mapped,
): Promise<readonly Mapped[]> => {
  const mapped: Mapped[] = [];
  for (const item of items) {
    mapped.push(map(item));
    await setImmediate();
  }
  return mapped;
};

// Control characters (ANSI's escape too), line separators, bidi controls, and the tag characters that hide a text in a
// text. Joiners stay: emoji and many scripts need them.
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const BLANKS = /\s{2,}/g;
// What is cut away is never looked at, be it a megabyte: entities, tags and blanks shrink, but rarely to an eighth.
const READ_PER_SHOWN = 8;

// Of a text that is cut before it is decoded: enough for a secret that begins where the reading ends.
const MOST_SECRET = 8192;

/** How a text from outside is shown: at most so many characters, and without these secrets. */
type Showing = { readonly most: number; readonly hide: HideSecrets };

/** Text from outside, decoded, as one line of printable characters. Secrets go first: a part of one would not be known. */
export const joinLine = (text: string, { most, hide }: Showing): string =>
  cutText(
    hide(text, { from: 0, to: READ_PER_SHOWN * most })
      .toWellFormed()
      .replace(UNSEEN, ' ')
      .replace(BLANKS, ' ')
      .trim(),
    most,
  );

/** The same of a text with HTML's entities, such as Gmail's snippets: `Tom &amp; Eve&#39;s`. */
export const readEntityLine = (text: string, showing: Showing): string =>
  joinLine(decodeEntities(text.slice(0, decideReadLength(showing))), showing);

const decideReadLength = ({ most }: Showing): number => READ_PER_SHOWN * most + MOST_SECRET;

// A tag begins with a letter: `3 < 4` is none.
const TAG = /<\/?[a-z][^<>]*>/gi;

/** The same of a text that may be HTML, such as an event's description: without its tags. */
export const readTextLine = (html: string, showing: Showing): string =>
  readEntityLine(html.slice(0, decideReadLength(showing)).replace(TAG, ' '), showing);

const NAMED = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
]);
const ENTITY = /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,4}));/gi;
const MOST_CODE_POINT = 0x10ffff;

const decodeEntities = (text: string): string =>
  text.replace(ENTITY, (entity: string, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? entity;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= MOST_CODE_POINT ? String.fromCodePoint(code) : entity;
  });

const MOST_LINK = 2000;

/** A link to be shown; null where it is none that leads anywhere: one that is cut does not. */
export const writeLink = (link: string | null | undefined, hide: HideSecrets): string | null =>
  typeof link === 'string' && link.length <= MOST_LINK && /^https:\/\/[\x21-\x7e]+$/.test(link) ? hide(link) : null;

// RFC 2047: =?charset?B?base64?= and =?charset?Q?quoted?=, the charset with a language behind a star (RFC 2231).
const WORD = String.raw`=\?[^?\s]{1,60}\?[bq]\?[^?\s]*\?=`;
const WORDS = new RegExp(String.raw`${WORD}(?:\s+${WORD}|${WORD})*`, 'gi');
const PARTS = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bq])\?([^?\s]*)\?=/gi;
const MOST_READ = 8192;

/**
 * The value of a header as people read it. Gmail decodes what is well formed; words that it leaves as they came
 * (RFC 2047) are decoded here, and what cannot be decoded stays as it is.
 */
export const readHeaderLine = (value: string, showing: Showing): string =>
  joinLine(value.slice(0, MOST_READ).replace(WORDS, decodeWords), showing);

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
