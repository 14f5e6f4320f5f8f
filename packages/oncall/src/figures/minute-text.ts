import { BUCKETS } from './durations.ts';

/** What is counted of one tool in one minute. */
export class ToolCounts {
  calls = 0;
  /** Of these, how many were taken by who counts further. */
  taken = 0;
  /** By code; null: none failed. */
  failures: Map<string, number> | null = null;
  /** Of calls that ran. */
  readonly durations = new Int32Array(BUCKETS);

  fail(code: string): void {
    this.failures ??= new Map();
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
  }

  clear(): void {
    this.calls = 0;
    this.taken = 0;
    this.failures = null;
    this.durations.fill(0);
  }
}

/** Numbers of names of tools and of codes, which stand once in an hour: a name keeps its number. */
export class Names {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.list.length);
    return this.list.push(name) - 1;
  }
}

/** Numbers of seven bits a byte, lowest first; the eighth bit says that more follow. */
class NumberWriter {
  #bytes = Buffer.alloc(4096);
  #length = 0;

  add(number: number): void {
    if (this.#length + 8 > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * this.#bytes.length);
    let rest = number;
    while (rest > 127) {
      this.#bytes[this.#length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  addTwo(one: number, other: number): void {
    this.add(one);
    this.add(other);
  }

  /** Base64 of what was added since the last time. */
  take(): string {
    const text = this.#bytes.toString('base64', 0, this.#length);
    this.#length = 0;
    return text;
  }
}

const writer = new NumberWriter();

/**
 * A minute as text. Of each tool that was called: the number of its name; twice its calls, and one more if some failed; then how many codes
 * there are, each with its number and how often; how many buckets have counts, the first of them, and their counts one after the other,
 * where a 0 and a number skip so many buckets.
 */
export const encodeMinute = (tools: ReadonlyMap<string, ToolCounts>, names: Names): string => {
  for (const [tool, { calls, failures, durations }] of tools) {
    if (calls === 0) continue;
    writer.add(names.numberOf(tool));
    writer.add(2 * calls + (failures === null ? 0 : 1));
    if (failures !== null) {
      writer.add(failures.size);
      for (const [code, count] of failures) writer.addTwo(names.numberOf(code), count);
    }
    addDurations(durations);
  }
  return writer.take();
};

const addDurations = (durations: Int32Array): void => {
  const filled: number[] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) if (durations[bucket] !== 0) filled.push(bucket);
  writer.add(filled.length);
  let next: number | null = null;
  for (const bucket of filled) {
    if (next === null) writer.add(bucket);
    else if (next < bucket) writer.addTwo(0, bucket - next);
    writer.add(durations[bucket] ?? 0);
    next = bucket + 1;
  }
};

/** Numbers of a text, one after the other; 0 behind its end. */
export class NumberReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(text: string) {
    this.#bytes = Buffer.from(text, 'base64');
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  next(): number {
    const byte = this.#bytes[this.#at++] ?? 0;
    return byte < 128 ? byte : this.#nextLong(byte & 127);
  }

  /** At most 28 bits: more are in none but a damaged text. */
  #nextLong(first: number): number {
    let number = first;
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      number |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return number;
  }
}
