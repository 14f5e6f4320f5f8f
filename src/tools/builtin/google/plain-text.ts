import { cutText } from '../../describe-value.ts';
import type { HideSecrets } from './hide-secrets.ts';

// Control characters (ANSI's escape too), line separators, bidi controls, and the tag characters that hide a text in a
// text. Joiners stay: emoji and many scripts need them.
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const BLANKS = /\s{2,}/g;
// What is cut away is never looked at, be it a megabyte: entities, tags and blanks shrink, but rarely to an eighth.
const READ_PER_SHOWN = 8;

// Of a text that is cut before it is decoded: enough for a secret that begins where the reading ends.
const MOST_SECRET = 8192;

/** How a text from outside is shown: at most so many characters, and without these secrets. */
export type Showing = { readonly most: number; readonly hide: HideSecrets };

/** Text from outside, decoded, as one line of printable characters. Secrets go first: a part of one would not be known. */
export const toLine = (text: string, { most, hide }: Showing): string =>
  cutText(
    hide(text, { from: 0, to: READ_PER_SHOWN * most })
      .toWellFormed()
      .replace(UNSEEN, ' ')
      .replace(BLANKS, ' ')
      .trim(),
    most,
  );

/** The same of a text with HTML's entities, such as Gmail's snippets: `Tom &amp; Eve&#39;s`. */
export const toEntityLine = (text: string, showing: Showing): string =>
  toLine(decodeEntities(text.slice(0, toReadLength(showing))), showing);

const toReadLength = ({ most }: Showing): number => READ_PER_SHOWN * most + MOST_SECRET;

// A tag begins with a letter: `3 < 4` is none.
const TAG = /<\/?[a-z][^<>]*>/gi;

/** The same of a text that may be HTML, such as an event's description: without its tags. */
export const toTextLine = (html: string, showing: Showing): string =>
  toEntityLine(html.slice(0, toReadLength(showing)).replace(TAG, ' '), showing);

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
export const toLink = (link: string | null | undefined, hide: HideSecrets): string | null =>
  typeof link === 'string' && link.length <= MOST_LINK && /^https:\/\/[\x21-\x7e]+$/.test(link) ? hide(link) : null;
