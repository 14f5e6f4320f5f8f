import { randomBytes } from 'node:crypto';

/** A secret that must be found nowhere. */
export type Canary = { readonly variable: string; readonly value: string };

/** How a tool may write what it leaks: as the files of `leaky-tools` do. */
export const SPELLINGS = {
  plain: (text: string): string => text,
  json: (text: string): string => JSON.stringify(text),
  url: (text: string): string => `https://example.com/?q=${encodeURIComponent(text)}`,
  form: (text: string): string => new URLSearchParams({ q: text }).toString(),
  base64: (text: string): string => Buffer.from(text).toString('base64'),
  basic: (text: string): string => `Basic ${Buffer.from(`user:${text}`).toString('base64')}`,
  base64url: (text: string): string => Buffer.from(`ab${text}`).toString('base64url'),
  uri: (text: string): string => `https://example.com/${encodeURI(text)}`,
  php: (text: string): string => JSON.stringify(text).replaceAll('/', '\\/'),
  units: (text: string): string =>
    JSON.stringify(text).replace(
      /[^ -%'-~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
    ),
} as const;

const letters = (length: number): string => randomBytes(length).toString('hex').slice(0, length);

/** Secrets of all kinds, new for each run. */
export const createCanaries = (): readonly Canary[] => [
  { variable: 'CANARY_TOKEN', value: `k${letters(30)}` },
  { variable: 'CANARY_PASSWORD', value: `p"${letters(6)}\\ö ${letters(6)}/+%&=${letters(6)}` },
  { variable: 'CANARY_SECRET', value: String(8_000_000_000 + Number.parseInt(letters(7), 16)) },
  { variable: 'CANARY_KEY', value: `-----BEGIN KEY-----\n${letters(64)}\n${letters(64)}\n-----END KEY-----` },
];

// Shorter pieces stand in a text by chance, and are nothing to begin with.
const PIECE = 10;

/** The pieces of all spellings of a canary that are its own, and would be of no other secret. */
const toPieces = ({ value }: Canary): readonly string[] =>
  value
    .split('\n')
    .filter((line) => !line.startsWith('-----'))
    .flatMap((line) => Object.values(SPELLINGS).flatMap((spell) => toOwnPieces(line, spell)));

const toOwnPieces = (text: string, spell: (text: string) => string): readonly string[] => {
  const spelt = spell(text);
  const around = spell('~'.repeat(Buffer.byteLength(text)));
  const [before, behind] = [countAlike(spelt, around), countAlike(reverse(spelt), reverse(around))];
  // One sign further: in Base64 it holds bits of what stands before or behind the secret.
  const own = spelt.slice(before + 1, spelt.length - behind - 1);
  return Array.from({ length: Math.max(0, own.length - PIECE + 1) }, (_, at) => own.slice(at, at + PIECE));
};

/** With how many signs two texts begin alike. */
const countAlike = (one: string, other: string): number => {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count += 1;
  return count;
};

const reverse = (text: string): string => text.split('').reverse().join('');

/** Which pieces of which canaries stand in a text, and what stands around them there. */
export const findCanaries = (canaries: readonly Canary[], text: string): readonly string[] =>
  canaries.flatMap((canary) => {
    const piece = toPieces(canary).find((candidate) => text.includes(candidate));
    if (piece === undefined) return [];
    const at = text.indexOf(piece);
    return [`${canary.variable}: ${piece} in ${text.slice(Math.max(0, at - 120), at + 80)}`];
  });
