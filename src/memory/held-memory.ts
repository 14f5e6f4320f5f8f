import type { ByteHold } from './byte-budget.ts';

/** The memory of a batch in one hold: values as often as they are copied, and the arguments that it was opened with. */
export class HeldMemory {
  readonly #hold: ByteHold;
  readonly #copies: number;
  #argumentBytes: number;
  /** While handlers of calls that are answered go on. */
  #lateHold: ByteHold | null = null;
  #lateHandlers = 0;

  constructor(hold: ByteHold, copies: number, argumentBytes: number) {
    this.#hold = hold;
    this.#copies = copies;
    this.#argumentBytes = argumentBytes;
  }

  take(bytes: number): boolean {
    return this.#hold.take(bytes * this.#copies);
  }

  give(bytes: number): void {
    this.#hold.give(bytes * this.#copies);
  }

  takeArguments(bytes: number): boolean {
    if (!this.#hold.take(bytes)) return false;
    this.#argumentBytes += bytes;
    return true;
  }

  keepArgumentsUntil(handlerEnd: Promise<unknown>): void {
    if (this.#argumentBytes === 0) return;
    this.#lateHold ??= this.#hold.beside(this.#argumentBytes);
    this.#lateHandlers += 1;
    void handlerEnd.finally(() => {
      this.#lateHandlers -= 1;
      if (this.#lateHandlers > 0) return;
      this.#lateHold?.release();
      this.#lateHold = null;
    });
  }
}
