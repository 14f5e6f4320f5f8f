const [QUOTE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 91, 93, 123, 125] as const;

/** The place after the JSON string whose content begins at `start`. */
export const skipString = (json: string, start: number): number => {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
};

/** Whether a JSON text nests arrays and objects deeper than `levels`. Never recursive. */
export const isDeeperThan = (json: string, levels: number): boolean => {
  if (json.length <= 2 * levels) return false;
  let depth = 0;
  // By codes: a match for each bracket takes ten times as long, 100 ms for a megabyte of empty objects.
  for (let at = 0; at < json.length && depth <= levels; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === QUOTE) at = skipString(json, at + 1) - 1;
    else depth += nestingOf(sign);
  }
  return depth > levels;
};

/** How many levels deeper a JSON text is behind the character of this code. */
export const nestingOf = (sign: number): -1 | 0 | 1 => {
  if (sign === OPEN_LIST || sign === OPEN_OBJECT) return 1;
  return sign === CLOSE_LIST || sign === CLOSE_OBJECT ? -1 : 0;
};

// JSON writes such a text as it stands. Longer ones are seldom worth a second look.
const PLAIN = /^[\w.:/ -]{0,64}$/;

/** What `JSON.stringify` gives for a text; at a quarter of its price for short ones, such as ids and names. */
export const toJsonString = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

// Between tokens of JSON a blank is the same; within strings JSON escapes CR and LF itself.
const LINE_ENDS = /[\r\n\u0085\u2028\u2029]/;
const ALL_LINE_ENDS = new RegExp(LINE_ENDS, 'g');
const toBlankOrEscape = (sign: string): string =>
  sign === '\r' || sign === '\n' ? ' ' : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The same JSON on one line, also for readers that break lines at U+0085, U+2028 and U+2029 (Node's readline, Python's splitlines). */
export const toOneLineJson = (json: string): string =>
  LINE_ENDS.test(json) ? json.replace(ALL_LINE_ENDS, toBlankOrEscape) : json;

// A pair, half of one, or any other escape: read in this order, a backslash that is itself escaped begins none.
const ESCAPES = /\\(?:(u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g;

/**
 * The same JSON with U+FFFD for each half of a character (a lone surrogate, which JSON.stringify writes as an escape): strict
 * parsers refuse a whole text for one, as providers of models do, and Python cannot encode it.
 */
export const toWellFormedJson = (json: string): string =>
  json.includes('\\ud') ? json.replace(ESCAPES, (all, _pair, half) => (half === undefined ? all : '\ufffd')) : json;
