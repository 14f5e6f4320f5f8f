const MAX_ECHO = 80;
const ECHOED: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);

/** Text cut to `limit` characters, with an ellipsis where something is missing; never splits a surrogate pair. */
export const cutText = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const end = limit - 1;
  const last = text.charCodeAt(end - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
};

/** "a number", "an array": the JSON type of a value with its article. */
export const withArticle = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** The JSON type of a value: string, number, boolean, null, array, object, or undefined. */
const jsonTypeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

/** How a message names a received value: `the string "abc"`, `an array`. Echoes at most 80 characters. */
export const describeValue = (value: unknown, sensitive: 'show' | 'hide' = 'show'): string => {
  const type = jsonTypeOf(value);
  if (type === 'null') return 'null';
  if (type === 'undefined') return 'nothing';
  if (!ECHOED.has(type)) return withArticle(type);
  if (sensitive === 'hide') return `${withArticle(type)} (hidden)`;
  return `the ${type} ${cutText(JSON.stringify(value) ?? String(value), MAX_ECHO)}`;
};
