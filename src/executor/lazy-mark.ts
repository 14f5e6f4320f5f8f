import type { CallMark } from './session-store.ts';

/** A mark that makes of its two ways the one that its store asks for, once. */
export class LazyMark implements CallMark {
  readonly #toPrint: () => number;
  readonly #toDigest: () => string;
  #print: number | null = null;
  #digest: string | null = null;

  constructor(toPrint: () => number, toDigest: () => string) {
    this.#toPrint = toPrint;
    this.#toDigest = toDigest;
  }

  get print(): number {
    this.#print ??= this.#toPrint();
    return this.#print;
  }

  readonly digest = (): string => {
    this.#digest ??= this.#toDigest();
    return this.#digest;
  };
}
