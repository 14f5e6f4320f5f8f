/** Hears of each escape that was taken out: where it ends in the new text, and where it ended in the old one. */
export type OnEscape = (end: number, oldEnd: number) => void;

/** A text without one kind of escape; null where it holds none of that kind. Whatever is no escape stays as it is. */
export type Unescape = (text: string, onEscape?: OnEscape) => string | null;

type Escape = { readonly means: string; readonly length: number };

/** Takes out the backslashes of JSON, and of what is written as JSON is: `\"`, `\/`, `\n`, `\u00e9`, `\x1b`. */
export const unescapeBackslashes: Unescape = (text, onEscape) => unescapeBy('\\', readBackslash, text, onEscape);

/** Takes out the escapes of URLs, which spell UTF-8. */
export const unescapePercents: Unescape = (text, onEscape) => unescapeBy('%', readPercent, text, onEscape);

const unescapeBy = (
  sign: string,
  read: (text: string, at: number) => Escape,
  text: string,
  onEscape?: OnEscape,
): string | null => {
  let unescaped = '';
  let from = 0;
  for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, from)) {
    const { means, length } = read(text, at);
    unescaped += at === from ? means : text.slice(from, at) + means;
    from = at + length;
    onEscape?.(unescaped.length, from);
  }
  const whole = unescaped + text.slice(from);
  return whole.length === text.length ? null : whole;
};

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

const ASCII = Array.from({ length: 128 }, (_, unit) => String.fromCharCode(unit));
// Made once: a text may consist of them.
const OF_ONE_SIGN: readonly Escape[] = ASCII.map((sign) => ({ means: CONTROLS.get(sign) ?? sign, length: 2 }));
const OF_ONE_BYTE: readonly Escape[] = ASCII.map((means) => ({ means, length: 3 }));
const NO_BACKSLASH: Escape = { means: '\\', length: 1 };
const NO_PERCENT: Escape = { means: '%', length: 1 };

const readBackslash = (text: string, at: number): Escape => {
  const sign = text[at + 1];
  if (sign === undefined) return NO_BACKSLASH;
  if (sign === 'u') return readUnit(text, at, 4);
  if (sign === 'x') return readUnit(text, at, 2);
  return OF_ONE_SIGN[sign.charCodeAt(0)] ?? { means: sign, length: 2 };
};

const readUnit = (text: string, at: number, digits: number): Escape => {
  const length = 2 + digits;
  const unit = readHex(text, at + 2, at + length);
  if (unit !== -1) return { means: String.fromCharCode(unit), length };
  return { means: text.slice(at + 1, at + 2), length: 2 };
};

const readPercent = (text: string, at: number): Escape => {
  const first = readHex(text, at + 1, at + 3);
  const single = OF_ONE_BYTE[first];
  if (single !== undefined) return single;
  const bytes = measureSequence(first);
  const sequence = bytes === 0 ? -1 : readSequence(text, at, first, bytes);
  return sequence === -1 ? NO_PERCENT : { means: String.fromCodePoint(sequence), length: 3 * bytes };
};

/** How many bytes a sequence of UTF-8 has that begins with this one, of more than one; 0 where none does. */
const measureSequence = (first: number): number => {
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
};

const readSequence = (text: string, at: number, first: number, length: number): number => {
  let point = first & (0x7f >> length);
  for (let place = at + 3; place < at + 3 * length; place += 3) {
    const byte = text[place] === '%' ? readHex(text, place + 1, place + 3) : -1;
    if (byte < 0x80 || byte > 0xbf) return -1;
    point = point * 64 + (byte & 0x3f);
  }
  return point > 0x10_ffff ? -1 : point;
};

/** The number that the hex digits between two places spell; -1 where others stand there. */
const readHex = (text: string, from: number, to: number): number => {
  let value = 0;
  for (let place = from; place < to; place += 1) {
    const digit = toDigit(text.charCodeAt(place));
    if (digit === -1) return -1;
    value = value * 16 + digit;
  }
  return value;
};

const toDigit = (unit: number): number => {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};
