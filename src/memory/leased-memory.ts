import { SMALL_TEXT, weighJson } from '../json/weigh-json.ts';
import type { MemoryLease } from './byte-budget.ts';

/** What a batch was read from. `bytes`: what the lease has taken for it; 0: nothing yet. */
export type BatchText = { readonly source: string; readonly bytes: number };

/** The memory of a batch in one lease: values as often as they are copied, and the arguments that it was opened with. */
export class LeasedMemory {
  readonly #lease: MemoryLease;
  readonly #copies: number;
  readonly #body: BatchText;
  #argumentBytes: number;
  /** While handlers of calls that are answered go on. */
  #lateLease: MemoryLease | null = null;
  #lateHandlers = 0;

  constructor(lease: MemoryLease, copies: number, body: BatchText) {
    this.#lease = lease;
    this.#copies = copies;
    this.#body = body;
    this.#argumentBytes = body.bytes;
  }

  take(bytes: number): boolean {
    return this.#lease.take(bytes * this.#copies);
  }

  give(bytes: number): void {
    this.#lease.give(bytes * this.#copies);
  }

  takeArguments(bytes: number): boolean {
    if (!this.#lease.take(bytes)) return false;
    this.#argumentBytes += bytes;
    return true;
  }

  /** Of a batch that does not end at once a body that was not weighed is: small as it is, many may wait. */
  async keepUntil<Value>(work: Promise<Value>): Promise<Value> {
    const { source, bytes } = this.#body;
    if (bytes === 0 && source.length > SMALL_TEXT) {
      const added = source.length + weighJson(source);
      this.#lease.add(added);
      this.#argumentBytes += added;
    }
    this.#lease.retain();
    try {
      return await work;
    } finally {
      this.#lease.release();
    }
  }

  keepArgumentsUntil(handlerEnd: Promise<unknown>): void {
    if (this.#argumentBytes === 0) return;
    this.#lateLease ??= this.#lease.beside(this.#argumentBytes);
    this.#lateHandlers += 1;
    void handlerEnd.finally(() => {
      this.#lateHandlers -= 1;
      if (this.#lateHandlers > 0) return;
      this.#lateLease?.release();
      this.#lateLease = null;
    });
  }
}
