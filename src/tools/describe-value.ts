const MAX_ECHO = 80;

/** No description of a received value is shown longer: of a string, eighty characters. */
export const MAX_DESCRIBED = 'the string '.length + MAX_ECHO;

const ECHOED: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);

/** Text cut to `limit` characters, with an ellipsis where something is missing; never splits a surrogate pair or a `[redacted]`. */
export const cutText = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const end = beforeMark(text, limit - 1);
  const last = text.charCodeAt(end - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
};

const MARK = '[redacted';
const LONGEST_MARK = '[redacted private key]'.length;

/** Where to cut instead of at `end`, so that what stands for a secret stays whole. */
const beforeMark = (text: string, end: number): number => {
  const start = text.lastIndexOf(MARK, end - 1);
  if (start === -1 || end - start >= LONGEST_MARK) return end;
  const close = text.indexOf(']', start + MARK.length);
  return close >= end && close - start < LONGEST_MARK ? start : end;
};

/**
 * How many characters beyond a cut are kept of a text that is cut before its secrets are taken out: a secret of up to this
 * length that the cut goes through is still whole. Whoever takes the secrets out shows no character of them.
 */
export const LOOKAHEAD = 4096;

/** Text of which `limit` characters will be shown, after its secrets have been taken out. */
export const withLookahead = (text: string, limit: number): string =>
  text.length <= limit + LOOKAHEAD ? text : text.slice(0, limit + LOOKAHEAD);

/** A text that another one may follow: with a full stop where it has no end of a sentence. */
export const endSentence = (text: string): string => (text === '' || ENDED.test(text.slice(-4)) ? text : `${text}.`);
const ENDED = /[.!?…]["'”’)\]]{0,3}$/;

/** "a number", "an array": the JSON type of a value with its article. */
export const withArticle = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** The JSON type of a value: string, number, boolean, null, array, object, or undefined. */
const jsonTypeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

/** How a message names a received value: `the string "abc"`, `an array`. Of its 80 characters that are shown, with lookahead. */
export const describeValue = (value: unknown, sensitive: 'show' | 'hide' = 'show'): string => {
  const type = jsonTypeOf(value);
  if (type === 'null') return 'null';
  if (type === 'undefined') return 'nothing';
  if (!ECHOED.has(type)) return withArticle(type);
  if (sensitive === 'hide') return `${withArticle(type)} (hidden)`;
  return `the ${type} ${withLookahead(JSON.stringify(value) ?? String(value), MAX_ECHO)}`;
};

/** Text without line ends and other control characters. */
export const onOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd');
