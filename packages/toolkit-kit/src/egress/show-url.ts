import { cutText } from 'recourse-server/tools/describe-value';

const MOST_SHOWN = 200;
// Control, format (bidi), lone surrogate, line and paragraph separators: what could forge a line or hide a part.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const toEscape = (character: string): string => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/**
 * Text from outside as a message may show it: one line, printable, at most `most` characters. A word that the cut goes through
 * is left out: half a secret would not be known as one where secrets are taken out.
 */
export const showText = (text: string, most = MOST_SHOWN): string => cutAtWord(escapeUnprintable(text, most), most);

/** A value from outside, such as a title: as `showText`, but cut anywhere. */
export const showValue = (text: string, most = MOST_SHOWN): string => cutText(escapeUnprintable(text, most), most);

const escapeUnprintable = (text: string, most: number): string =>
  text.slice(0, 2 * most).replace(UNPRINTABLE, toEscape);

/** Text of at most `most` characters and an ellipsis, without the word that it is cut in. */
export const cutAtWord = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, findWordEnd(text, most - 1))}…`;

// Not by an expression: one that looks for a word at the end tries every word before it.
const findWordEnd = (text: string, from: number): number => {
  let end = from;
  while (end > 0 && !BOUNDARY.test(text[end - 1] ?? ' ')) end -= 1;
  return end;
};

// Not at a comma or a quote: connection strings and passwords hold those.
const BOUNDARY = /\s/;

/** A URL as a message may show it: as `showValue`, and without the user name and password. */
export const showUrl = (url: URL | string): string => {
  const text = String(url);
  const scheme = /^\s*[a-z][a-z0-9+.-]*:[/\\]*/i.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length);
  const end = rest.search(/[/\\?#]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  // Where the text is no URL, a password may hold a slash: then all up to the last @ is hidden.
  const at = URL.canParse(text) ? authority.lastIndexOf('@') : rest.lastIndexOf('@');
  return showValue(at === -1 ? text : `${scheme}…${rest.slice(at)}`);
};
