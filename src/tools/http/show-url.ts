import { cutText } from '../describe-value.ts';

const MOST_SHOWN = 200;
// Control, format (bidi), lone surrogate, line and paragraph separators: what could forge a line or hide a part.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const toEscape = (character: string): string => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/** Text from outside as a message may show it: one line, printable, at most `most` characters. */
export const showText = (text: string, most = MOST_SHOWN): string =>
  cutText(text.slice(0, 2 * most).replace(UNPRINTABLE, toEscape), most);

/** A URL as a message may show it: as `showText`, and without the user name and password. */
export const showUrl = (url: URL | string): string => {
  const text = String(url);
  const scheme = /^\s*[a-z][a-z0-9+.-]*:[/\\]*/i.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length);
  const end = rest.search(/[/\\?#]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  // Where the text is no URL, a password may hold a slash: then all up to the last @ is hidden.
  const at = URL.canParse(text) ? authority.lastIndexOf('@') : rest.lastIndexOf('@');
  return showText(at === -1 ? text : `${scheme}…${rest.slice(at)}`);
};
