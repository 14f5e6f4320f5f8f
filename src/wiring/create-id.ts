import { randomFillSync } from 'node:crypto';

/** What ids are made of. */
export type IdSource = {
  /** Unix milliseconds. */
  readonly time: () => number;
  readonly fillRandom: (bytes: Uint8Array) => void;
};

const SYSTEM: IdSource = { time: Date.now, fillRandom: (bytes) => void randomFillSync(bytes) };

// Crockford's base32. Two digits of it are 10 bits.
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PAIRS = [...DIGITS].flatMap((first) => [...DIGITS].map((second) => first + second));
const PAIR = 1024;
const TIME_PAIRS = 5;
const HEAD_PAIRS = 6;
// One system call draws for 64 milliseconds.
const POOL_BYTES = 1024;

/**
 * Makes ULIDs (github.com/ulid/spec), rising within a process: ids of requests, batches and log references. The 80 random
 * bits are drawn once a millisecond, and their last 20 go up by one with each further id of it, also while the clock is
 * behind where it was. Where these overflow, the next id is of the millisecond after.
 */
export const createIdFactory = ({ time, fillRandom }: IdSource = SYSTEM): (() => string) => {
  const pool = new Uint8Array(POOL_BYTES);
  let used = pool.length;
  let stamp = -1;
  // All but the last four digits, which `low` counts.
  let head = '';
  let low = 0;

  const drawPair = (): number => {
    if (used === pool.length) {
      fillRandom(pool);
      used = 0;
    }
    used += 2;
    return ((pool[used - 2] ?? 0) * 256 + (pool[used - 1] ?? 0)) % PAIR;
  };
  const begin = (at: number): void => {
    stamp = at;
    head = '';
    for (let rest = at, place = 0; place < TIME_PAIRS; place += 1, rest = Math.floor(rest / PAIR))
      head = pairOf(rest % PAIR) + head;
    for (let place = 0; place < HEAD_PAIRS; place += 1) head += pairOf(drawPair());
    low = drawPair() * PAIR + drawPair();
  };
  return () => {
    const at = time();
    if (at > stamp) begin(at);
    else if (low < PAIR * PAIR - 1) low += 1;
    else begin(stamp + 1);
    return head + pairOf(Math.floor(low / PAIR)) + pairOf(low % PAIR);
  };
};

const pairOf = (bits: number): string => PAIRS[bits] ?? '';
