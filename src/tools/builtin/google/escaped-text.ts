/** A text without one kind of escape. Those that `toSign` knows no sign for stay, as does whatever is none of that kind. */
type Unescape = (text: string, toSign: (code: number) => string | undefined) => string;

const hex = (digits: string): number => Number.parseInt(digits, 16);

const KINDS: readonly Unescape[] = [
  // URLs (RFC 3986, section 2.1).
  (text, toSign) => text.replace(/%([0-7][0-9a-f])/gi, (found, digits: string) => toSign(hex(digits)) ?? found),
  // JSON (RFC 8259, section 7), and what is written as JSON is.
  (text, toSign) =>
    text.replace(/\\(?:(?:u00|x)([0-7][0-9a-f])|([^ux]))/gi, (found, digits?: string, sign = '') => {
      const code = digits === undefined ? (CONTROLS.get(sign) ?? sign.charCodeAt(0)) : hex(digits);
      return toSign(code) ?? found;
    }),
  // HTML: Gmail's snippets have them.
  (text, toSign) =>
    text.replace(
      /&(?:#x0{0,4}([0-7]?[0-9a-f])|#0{0,4}([0-9]{1,3})|([a-z]{2,4}));/gi,
      (found, digits?: string, decimal?: string, name = '') => {
        const code = digits === undefined ? (NAMED.get(name.toLowerCase()) ?? Number(decimal)) : hex(digits);
        return toSign(code) ?? found;
      },
    ),
  // Headers and bodies of mail (RFC 2045, section 6.7).
  (text, toSign) => text.replace(/=([0-7][0-9a-f])/gi, (found, digits: string) => toSign(hex(digits)) ?? found),
];

const CONTROLS = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
]);
const NAMED = new Map([
  ['amp', 38],
  ['lt', 60],
  ['gt', 62],
  ['quot', 34],
  ['apos', 39],
]);

// What escapes themselves are written with.
const OF_ESCAPES = '%\\&#;=';
const MAY_BE_ESCAPED = /[%\\&=]/;
// JSON in JSON with addresses in it has half as many. Of texts that are full of escapes of escapes some are left out, and
// more of long ones, of which each takes a tenth of a second for 10 MB: but each kind by itself is read.
const MOST_READINGS = 8;
const LONG = 1_048_576;
const MOST_READINGS_OF_LONG = 1 + KINDS.length;

/** The first reading of a text, with fewer and fewer of its escapes, that is what is looked for; undefined where none is. */
type FindReading = (text: string, isFound: (reading: string) => boolean) => string | undefined;

/** Reads escapes of these signs, of ASCII: all others, of which a text may be full, hide no part of what they are signs of. */
export const createEscapeReader = (signs: string): FindReading => {
  const known = new Map([...signs, ...OF_ESCAPES].map((sign) => [sign.charCodeAt(0), sign]));
  const toSign = (code: number): string | undefined => known.get(code);
  return (text, isFound) => {
    const readings = new Set([text]);
    const most = text.length > LONG ? MOST_READINGS_OF_LONG : MOST_READINGS;
    for (const reading of readings) {
      if (isFound(reading)) return reading;
      if (MAY_BE_ESCAPED.test(reading)) addReadings(readings, most, (read) => read(reading, toSign));
    }
    return undefined;
  };
};

const addReadings = (readings: Set<string>, most: number, readBy: (kind: Unescape) => string): void => {
  for (const kind of KINDS) if (readings.size < most) readings.add(readBy(kind));
};
