import type { CallMark } from './session-store.ts';

/** A mark that makes its print when it is first asked for. */
export class LazyMark implements CallMark {
  readonly #toPrint: () => number;
  #print: number | null = null;

  constructor(toPrint: () => number) {
    this.#toPrint = toPrint;
  }

  get print(): number {
    this.#print ??= this.#toPrint();
    return this.#print;
  }
}
