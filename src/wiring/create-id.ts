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
const RANDOM_PAIRS = 8;
// One system call draws for 64 milliseconds.
const POOL_BYTES = 1024;

/**
 * Makes ULIDs (github.com/ulid/spec), rising within a process: ids of requests, batches and log references. The 80 random
 * bits are drawn once a millisecond and go up by one with each further id of it, also while the clock is behind where it was.
 * Where they overflow, the next id is of the millisecond after.
 */
export const createIdFactory = ({ time, fillRandom }: IdSource = SYSTEM): (() => string) => {
  const pool = new Uint8Array(POOL_BYTES);
  let used = pool.length;
  const random = new Uint16Array(RANDOM_PAIRS);
  let stamp = -1;
  // All but the last four digits, which `low` counts.
  let head = '';
  let low = 0;

  const writeHead = (): void => {
    let timeDigits = '';
    for (let rest = stamp, place = 0; place < TIME_PAIRS; place += 1) {
      timeDigits = pairOf(rest % PAIR) + timeDigits;
      rest = Math.floor(rest / PAIR);
    }
    head = timeDigits;
    for (let place = 0; place < RANDOM_PAIRS - 2; place += 1) head += pairOf(random[place] ?? 0);
  };
  const begin = (at: number): void => {
    stamp = at;
    if (used === pool.length) {
      fillRandom(pool);
      used = 0;
    }
    for (let place = 0; place < RANDOM_PAIRS; place += 1) {
      random[place] = ((pool[used] ?? 0) * 256 + (pool[used + 1] ?? 0)) % PAIR;
      used += 2;
    }
    low = (random[RANDOM_PAIRS - 2] ?? 0) * PAIR + (random[RANDOM_PAIRS - 1] ?? 0);
    writeHead();
  };
  const carry = (): void => {
    let place = RANDOM_PAIRS - 3;
    while (place >= 0 && random[place] === PAIR - 1) {
      random[place] = 0;
      place -= 1;
    }
    if (place < 0) {
      begin(stamp + 1);
      return;
    }
    random[place] = (random[place] ?? 0) + 1;
    low = 0;
    writeHead();
  };
  return () => {
    const at = time();
    if (at > stamp) begin(at);
    else if (low < PAIR * PAIR - 1) low += 1;
    else carry();
    return head + pairOf(Math.floor(low / PAIR)) + pairOf(low % PAIR);
  };
};

const pairOf = (bits: number): string => PAIRS[bits] ?? '';
