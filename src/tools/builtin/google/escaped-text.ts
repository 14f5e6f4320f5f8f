/** A text without one layer of its escapes. */
export type Reading = {
  readonly text: string;
  /** Where a place between two characters of the reading is in the text that was read. */
  readonly toSource: (at: number) => number;
};

// ASCII in URLs (RFC 3986, section 2.1), in JSON (RFC 8259, section 7) and in HTML. Other signs may stay: no secret has any.
const ESCAPE =
  /%([0-7][0-9a-f])|\\(?:(?:u00|x)([0-7][0-9a-f])|([^ux]))|&(?:#x0{0,4}([0-7]?[0-9a-f])|#0{0,4}([0-9]{1,3})|(amp|lt|gt|quot|apos));/gi;

const AFTER_BACKSLASH: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/** Takes one layer of escapes away, of all kinds at once; undefined where there is none. */
export const readEscapes = (text: string): Reading | undefined => {
  const ends: number[] = [];
  const shifts: number[] = [];
  let shift = 0;
  const read = text.replace(ESCAPE, (found, ofUrl, ofJson, plain, hex, decimal, name, at: number) => {
    ends.push(at - shift + 1);
    shift += found.length - 1;
    shifts.push(shift);
    if (plain !== undefined) return AFTER_BACKSLASH.get(plain) ?? plain;
    if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? found;
    return String.fromCharCode(decimal === undefined ? Number.parseInt(ofUrl ?? ofJson ?? hex, 16) : Number(decimal));
  });
  if (ends.length === 0) return undefined;
  return { text: read, toSource: (at) => at + (shifts[countUpTo(ends, at) - 1] ?? 0) };
};

/** How many of these numbers, which grow, are at most `most`. */
const countUpTo = (numbers: readonly number[], most: number): number => {
  let [from, to] = [0, numbers.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((numbers[middle] ?? 0) <= most) from = middle + 1;
    else to = middle;
  }
  return from;
};
