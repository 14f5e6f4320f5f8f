// Controls, and characters that only change how others are shown: a name could look like another one, or a text run
// backwards. The joiners of scripts and emoji (U+200C, U+200D) are left.
const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const HARMLESS = new Set(['\n', '\t', '\u200c', '\u200d']);

const escapeHidden = (character: string): string =>
  HARMLESS.has(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** The text with every hidden character written out, so that what is read is what is there. */
export const toVisible = (text: string): string => text.replace(HIDDEN_CHARACTERS, escapeHidden);

/** The same on one line, for names. */
export const toVisibleName = (text: string): string => toVisible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
