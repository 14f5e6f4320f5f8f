const [QUOTE, COMMA, COLON, BACKSLASH, OPEN_LIST, OPEN_OBJECT] = [34, 44, 58, 92, 91, 123] as const;

/** Whether a text of JSON has more than so many parts. */
export const hasMoreParts = (json: string, most: number): boolean => countParts(json, most) > most;

/**
 * How many parts (values and names of members) a text of JSON has, counted by its signs before anything parses it: three
 * bytes of text can be a hundred of memory. Of more than `most` it gives one more.
 */
export const countParts = (json: string, most: number): number => {
  let parts = 0;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === QUOTE) at = toStringEnd(json, at);
    else if (sign === COMMA || sign === COLON || sign === OPEN_LIST || sign === OPEN_OBJECT) parts += 1;
    if (parts > most) return parts;
  }
  return parts;
};

/** Where the string ends that begins here; the end of the text where it does not. */
const toStringEnd = (json: string, begin: number): number => {
  for (let at = begin + 1; at < json.length; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === BACKSLASH) at += 1;
    else if (sign === QUOTE) return at;
  }
  return json.length;
};
