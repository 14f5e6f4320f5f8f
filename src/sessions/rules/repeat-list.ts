import type { Repeats } from '../../executor/session-store.ts';

// Of a call its hash, that of its last answer (-1: none), and failed * 2^20 + same.
const NUMBERS = 3;
const HIGH = 2 ** 20;
const NO_ANSWER = -1;

/**
 * Repeats by the hash of their call, of a few calls. One array of numbers: a map would be fifty objects for sixteen calls, which
 * garbage collections copy until the next round of the session.
 */
export class RepeatList implements Iterable<readonly [number, Repeats]> {
  /** Three a call; whatever they are, they are repeats. */
  readonly numbers: number[];

  constructor(numbers: number[] = []) {
    this.numbers = numbers;
  }

  static of(repeats: Iterable<readonly [number, Repeats]>): RepeatList {
    const list = new RepeatList();
    for (const [callHash, one] of repeats) list.set(callHash, one);
    return list;
  }

  get size(): number {
    return this.numbers.length / NUMBERS;
  }

  has(callHash: number): boolean {
    return this.#find(callHash) !== -1;
  }

  get(callHash: number): Repeats | undefined {
    const at = this.#find(callHash);
    return at === -1 ? undefined : this.#at(at);
  }

  /** Only while the list is being made: afterwards it is never changed. */
  set(callHash: number, { failed, same, answer }: Repeats): void {
    const found = this.#find(callHash);
    const at = found === -1 ? this.numbers.length : found;
    this.numbers[at] = callHash;
    this.numbers[at + 1] = answer === '' ? NO_ANSWER : answer;
    this.numbers[at + 2] = failed * HIGH + same;
  }

  /** The same without calls that have no repeats, and without room to grow. */
  toKept(): RepeatList {
    const isKept = (_number: number, at: number): boolean => this.numbers[at - (at % NUMBERS) + 2] !== 0;
    return new RepeatList(this.numbers.every(isKept) ? this.numbers.slice() : this.numbers.filter(isKept));
  }

  *[Symbol.iterator](): Iterator<readonly [number, Repeats]> {
    for (let at = 0; at < this.numbers.length; at += NUMBERS) yield [this.numbers[at] ?? 0, this.#at(at)];
  }

  #find(callHash: number): number {
    const { numbers } = this;
    for (let at = 0; at < numbers.length; at += NUMBERS) if (numbers[at] === callHash) return at;
    return -1;
  }

  #at(at: number): Repeats {
    const answer = this.numbers[at + 1] ?? NO_ANSWER;
    const counts = this.numbers[at + 2] ?? 0;
    const failed = Math.floor(counts / HIGH);
    return { failed, same: counts - failed * HIGH, answer: answer === NO_ANSWER ? '' : answer };
  }
}
