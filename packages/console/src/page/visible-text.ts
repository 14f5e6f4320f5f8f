// Controls, characters that only change how others are shown, and those that are shown as nothing or as a blank: a name
// could look like another one, a text run backwards, or a message be hidden in it.
const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const HARMLESS = new Set(['\n', '\t']);

// What joins or chooses is left where it has something to join or to choose: letters of a script that is written joined,
// the parts of an emoji, a digit in its key cap. Elsewhere it would be seen by nobody.
const LETTER = String.raw`[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Inherited}\p{Script=Common}]]`;
const EMOJI = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}]`;
// Each begins with the character itself: looking back from every other one would take time that grows with its square.
const IN_PLACE = new RegExp(
  [
    String.raw`[\u200c\u200d](?=${LETTER})(?<=${LETTER}\p{M}*.)`,
    String.raw`\u200d(?=${EMOJI})(?<=${EMOJI}\ufe0f?.)`,
    String.raw`[\ufe0e\ufe0f](?<=${EMOJI}.)`,
    String.raw`\ufe0f(?=\u20e3)(?<=[0-9#*].)`,
  ].join('|'),
  'gv',
);

const escapeHidden = (character: string): string =>
  HARMLESS.has(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

const escapeAll = (text: string): string => text.replace(HIDDEN_CHARACTERS, escapeHidden);

/** The text with every hidden character written out, so that what is read is what is there. */
export const toVisible = (text: string): string => {
  let shown = '';
  let from = 0;
  for (const { 0: kept, index } of text.matchAll(IN_PLACE)) {
    shown += escapeAll(text.slice(from, index)) + kept;
    from = index + kept.length;
  }
  return shown + escapeAll(text.slice(from));
};

const MAX_NAME = 600;
const MAX_EXCERPT = 2_000;

export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

/** The beginning, for what is a sentence or two unless somebody wants to slow the page down. */
export const toVisibleExcerpt = (text: string): string => toVisible(cut(text, MAX_EXCERPT));

/** The same on one line, for names; every blank but the common one is written out, too. */
export const toVisibleName = (text: string): string =>
  toVisible(cut(text, MAX_NAME))
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replace(/(?! )\p{Zs}/gu, escapeHidden);
