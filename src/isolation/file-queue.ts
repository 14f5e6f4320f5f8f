import type { HostedFile, HostWaiter, PoolMember } from './pool-records.ts';

/** Files whose calls wait for a seat, the one that has waited longest first. */
export class FileQueue {
  readonly #files = new Set<HostedFile>();

  get size(): number {
    return this.#files.size;
  }

  /** Those that wait now, whatever becomes of them meanwhile. */
  list(): readonly HostedFile[] {
    return [...this.#files];
  }

  add(hosted: HostedFile, waiter: HostWaiter, now: number): void {
    if (hosted.waiting.size === 0) hosted.waitingSince = now;
    hosted.waiting.add(waiter);
    this.#files.add(hosted);
  }

  remove(hosted: HostedFile, waiter: HostWaiter): void {
    hosted.waiting.delete(waiter);
    if (hosted.waiting.size === 0) this.#files.delete(hosted);
  }

  /** All that wait for this file; nobody does any more. */
  drain(hosted: HostedFile): readonly HostWaiter[] {
    const waiting = [...hosted.waiting];
    hosted.waiting.clear();
    this.#files.delete(hosted);
    return waiting;
  }

  /**
   * Gives seats to the file's calls, in their order, as long as there are any; a call that must run alone holds up none
   * of the others. Where some go on waiting, the calls of other files come first now.
   */
  give(hosted: HostedFile, seatOf: (waiter: HostWaiter) => PoolMember | null): void {
    let given = 0;
    for (const waiter of hosted.waiting) {
      const member = seatOf(waiter);
      if (member === null && waiter.isAlone) continue;
      if (member === null) break;
      hosted.waiting.delete(waiter);
      waiter.take(member);
      given += 1;
    }
    if (given === 0) return;
    this.#files.delete(hosted);
    if (hosted.waiting.size > 0) this.#files.add(hosted);
  }
}
