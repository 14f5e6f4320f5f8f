import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';

const hex = randomBytes(24).toString('hex');

export const SECRETS: readonly string[] = [
  hex.slice(0, 32),
  `ghp_${randomBytes(18).toString('hex')}`,
  `p"${hex.slice(3, 9)}\\ö ${hex.slice(9, 15)}/+%&=${hex.slice(15, 21)}`,
  `83${BigInt(`0x${hex}`)}`.slice(0, 24),
];

export const ENVIRONMENT = Object.fromEntries(SECRETS.map((secret, place) => [`ORDERS_${place}_PASSWORD`, secret]));

/** Two texts alike but for one character: the first begins a registered value, the second begins none. */
export type Pair = readonly [begins: string, begins_none: string];

const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text,
  (text) => encodeURIComponent(text),
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => text.replace(/./gu, (sign) => `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(`u:${text}`).toString('base64'),
];

// In front of what begins a value: as many characters as bring it to a place where something is cut.
const FILLS: readonly number[] = [0, 0, 1, 60, 70, 76, 90, 96, 120, 160, 176, 190, 196, 280, 480, 490, 985, 1980, 1990];

const BEHIND: readonly string[] = ['', '…', '…', '"', '-', ' and more', '\\', '%', '...', '… …', 'z'.repeat(3000)];

const LEAST = 5;

export const anyPair = (secrets: readonly string[]): fc.Arbitrary<Pair> =>
  fc
    .record({
      secret: fc.constantFrom(...secrets),
      cut: fc.double({ min: 0, max: 1, noNaN: true }),
      spell: fc.constantFrom(...SPELLINGS),
      fill: fc.constantFrom(...FILLS),
      behind: fc.constantFrom(...BEHIND),
    })
    .map(({ secret, cut, spell, fill, behind }) => {
      // At least one character is left out, so that neither is the value. The last one is a letter or a digit, as the other
      // text's is: others are written in more characters. `ghp_` has to be whole, for it is part of a shape.
      let end = LEAST + Math.floor(cut * (secret.length - LEAST - 1));
      while (!/[0-9A-Za-z]/.test(secret[end - 1] ?? '0')) end -= 1;
      const begins = secret.slice(0, end);
      const last = secret[end - 1] ?? '';
      const other = last === '7' ? '8' : '7';
      const write = (text: string): string => `${'y'.repeat(fill)}${spell(text)}${behind}`;
      return [write(begins), write(`${begins.slice(0, -1)}${other}`)] as const;
    });

/**
 * Whether two texts are alike wherever what was sent is: each place where they differ holds characters that differ in
 * what was sent, and nothing was left out of one of them alone.
 */
export const findDifference = (one: string, other: string, [begins, none]: Pair): string | null => {
  if (one.length !== other.length) return `${one.length} and ${other.length} characters:\n${one}\n${other}`;
  if (one === other) return null;
  const sent = new Set<string>();
  for (const spell of [...SPELLINGS, (text: string) => JSON.stringify(JSON.stringify(text))]) {
    const [ones, others] = [spell(begins), spell(none)];
    for (let at = 0; at < ones.length; at += 1) sent.add(`${ones[at]} ${others[at]}`);
  }
  for (let at = 0; at < one.length; at += 1)
    if (one[at] !== other[at] && !sent.has(`${one[at]} ${other[at]}`))
      return `${JSON.stringify(one.slice(at - 40, at + 40))} and ${JSON.stringify(other.slice(at - 40, at + 40))}`;
  return null;
};
