import { BUCKETS } from './durations.ts';

/** What is counted of one tool in one minute. */
export class ToolCounts {
  calls = 0;
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

  /** Base64 of what was added since the last time. */
  take(): string {
    const text = this.#bytes.toString('base64', 0, this.#length);
    this.#length = 0;
    return text;
  }
}

const writer = new NumberWriter();

/**
 * A minute as text: of each tool that was called the number of its name, calls, how many codes, each with how often it failed so, how
 * many buckets, each with its count.
 */
export const encodeMinute = (tools: ReadonlyMap<string, ToolCounts>, names: Names): string => {
  for (const [tool, { calls, failures, durations }] of tools) {
    if (calls === 0) continue;
    writer.add(names.numberOf(tool));
    writer.add(calls);
    writer.add(failures?.size ?? 0);
    for (const [code, count] of failures ?? []) {
      writer.add(names.numberOf(code));
      writer.add(count);
    }
    addDurations(durations);
  }
  return writer.take();
};

const addDurations = (durations: Int32Array): void => {
  let filled = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) if (durations[bucket] !== 0) filled += 1;
  writer.add(filled);
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const count = durations[bucket] ?? 0;
    if (count === 0) continue;
    writer.add(bucket);
    writer.add(count);
  }
};

/** What is told of a minute that is read: a tool, then its codes and buckets. Names by their numbers. */
export type MinuteVisitor = {
  readonly tool: (name: number, calls: number) => void;
  readonly failed: (code: number, count: number) => void;
  readonly ran: (bucket: number, count: number) => void;
};

/** Reads a minute. Of a damaged text it tells what stands before the damage, of its last tool perhaps a part. */
export const readMinute = (text: string, visitor: MinuteVisitor): void => {
  const bytes = Buffer.from(text, 'base64');
  let at = 0;
  const next = (): number => {
    let number = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at++] ?? 0;
      number += (byte & 127) * 2 ** shift;
      if (byte < 128) return number;
    }
    return number;
  };
  while (at < bytes.length) {
    visitor.tool(next(), next());
    for (let codes = next(); codes > 0 && at < bytes.length; codes -= 1) visitor.failed(next(), next());
    for (let buckets = next(); buckets > 0 && at < bytes.length; buckets -= 1) visitor.ran(next(), next());
  }
};
