import { hash } from 'node:crypto';

/**
 * A hash of tool and arguments, 53 bits: the same for the same tool and JSON value, however its members are ordered and
 * its numbers written, and another one for any other value, as far as 53 bits can tell. The same in every
 * process and version, for sessions that processes share keep hashes. Values are at most 64 levels deep. Where
 * RFC 8785 has no text for a value (a lone surrogate) the order of members does not count either.
 */
export const toCallHash = (tool: string, value: unknown): number => {
  hashValue(value);
  const valueHigh = high;
  const valueLow = low;
  hashText(tool, NAME);
  mixPair(valueHigh, valueLow);
  return toNumber();
};

/**
 * A hash of a text, 53 bits, the same everywhere likewise. Of a long text it is taken from SHA-256, which is the cheaper one there.
 */
export const toTextHash = (text: string): number => {
  if (text.length > LONG_TEXT) return Number.parseInt(hash('sha256', text).slice(0, DIGITS), 16);
  hashText(text, TEXT);
  return toNumber();
};

const LONG_TEXT = 4096;
// Hexadecimal ones of 52 bits.
const DIGITS = 13;

const toNumber = (): number => (high >>> 0) * LOW_BITS + (low >>> LOW_SHIFT);

// Arbitrary and fixed. A caller that finds two calls of one hash stops only calls of its own session.
const SEED_HIGH = 0x6a09e667;
const SEED_LOW = 0xbb67ae85;

// 32 bits of `high` and 21 of `low`.
const LOW_BITS = 2 ** 21;
const LOW_SHIFT = 11;

// What begins a value of each kind.
const TEXT = 1;
const NUMBER = 2;
const LIST = 3;
const MEMBERS = 4;
const NAME = 5;
const WORDS = { true: 6, false: 7, null: 8 } as const;

// The hash of what was looked at last. Two variables: a pair for each value would cost more than hashing it.
let high = 0;
let low = 0;

const hashValue = (value: unknown): void => {
  if (typeof value === 'string') hashText(value, TEXT);
  else if (typeof value === 'number') hashNumber(value);
  else if (Array.isArray(value)) hashList(value);
  else if (isObject(value)) hashMembers(value);
  else begin(value === true ? WORDS.true : value === false ? WORDS.false : WORDS.null);
};

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

const begin = (kind: number): void => {
  high = Math.imul(SEED_HIGH ^ kind, 0x9e3779b1);
  low = Math.imul(SEED_LOW ^ kind, 0x5f356495);
};

const hashText = (text: string, kind: number): void => {
  let one = Math.imul(SEED_HIGH ^ kind, 0x9e3779b1);
  let other = Math.imul(SEED_LOW ^ kind, 0x5f356495);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 0x9e3779b1);
    other = Math.imul(other ^ code, 0x5f356495);
    // A product carries upwards only.
    one ^= one >>> 15;
    other ^= other >>> 13;
  }
  high = one;
  low = other;
  mixPair(text.length, kind);
};

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);

const hashNumber = (value: number): void => {
  // One text, "0", for both zeros.
  double[0] = value === 0 ? 0 : value;
  begin(NUMBER);
  mixPair(halves[0] ?? 0, halves[1] ?? 0);
};

const hashList = (items: readonly unknown[]): void => {
  begin(LIST);
  let listHigh = high;
  let listLow = low;
  for (const item of items) {
    hashValue(item);
    mixPair(listHigh, listLow);
    listHigh = high;
    listLow = low;
  }
  mixPair(items.length, LIST);
};

// A sum has no order. Each member is mixed with its name before it is added, so that no two can trade places.
const hashMembers = (members: Members): void => {
  const names = Object.keys(members);
  let sumHigh = 0;
  let sumLow = 0;
  for (const name of names) {
    hashValue(members[name]);
    const valueHigh = high;
    const valueLow = low;
    hashText(name, NAME);
    mixPair(valueHigh, valueLow);
    sumHigh = (sumHigh + high) | 0;
    sumLow = (sumLow + low) | 0;
  }
  begin(MEMBERS);
  mixPair(sumHigh, sumLow);
  mixPair(names.length, MEMBERS);
};

/** Mixes two more numbers into the hash. */
const mixPair = (one: number, other: number): void => {
  const first = Math.imul(high ^ one, 0x85ebca6b) ^ Math.imul(low ^ (low >>> 16), 0xc2b2ae35);
  const second = Math.imul(low ^ other, 0x27d4eb2f) ^ Math.imul(high ^ (high >>> 15), 0x165667b1);
  high = Math.imul(first ^ (first >>> 13), 0xc2b2ae35) ^ (second >>> 16);
  low = Math.imul(second ^ (second >>> 16), 0x9e3779b1) ^ (first >>> 15);
};
