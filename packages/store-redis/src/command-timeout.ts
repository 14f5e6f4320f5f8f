import { attach, type Linked, type LinkedNodes, remove } from 'recourse-server/memory/linked-list';
import { LateAnswerError } from 'recourse-server/store/store-availability';

/** How long a batch waits for what it can do without, in milliseconds. */
export const SHORT_TIMEOUT_MS = 50;

/** How long what must be kept waits for its answer, in milliseconds: a caller who has a deadline of seconds need not send it again. */
export const LONG_TIMEOUT_MS = 1000;

export const UNSENT = Number.POSITIVE_INFINITY;

/** Something that waits for an answer. `since`: from when, in milliseconds of `performance.now()`. */
export interface TimedWait extends Linked<TimedWait> {
  since: number;
  readonly giveUp: (error: unknown) => void;
}

/**
 * One timer for all that wait equally long: that of the oldest. Where a burst of requests kept the event loop busy, the timer
 * fires before the answers that are there are read. They are read before an immediate, which gives up the others.
 */
export class CommandTimeout {
  readonly #ms: number;
  // Oldest first, for each is waited for as long as any other.
  readonly #waiting: LinkedNodes<TimedWait> = { first: null, last: null, size: 0 };
  #unsent: TimedWait[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  add(one: TimedWait): void {
    attach(this.#waiting, one);
    if (one.since === UNSENT) this.#unsent.push(one);
    else if (this.#timer === undefined) this.#watchOldest(one.since);
  }

  remove(one: TimedWait): void {
    const isWaiting = one.previous !== null || this.#waiting.first === one;
    if (isWaiting) remove(this.#waiting, one);
  }

  /** The answer to a command, or a rejection where none comes in time. */
  wait<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const one: TimedWait = { previous: null, next: null, since: UNSENT, giveUp: reject };
      this.add(one);
      answer.then(
        (value) => {
          this.remove(one);
          resolve(value);
        },
        (error: unknown) => {
          this.remove(one);
          reject(error);
        },
      );
    });
  }

  /** All that waits has been sent, at `now`. */
  begin(now: number): void {
    if (this.#unsent.length === 0) return;
    for (const one of this.#unsent) one.since = now;
    this.#unsent = [];
    if (this.#timer === undefined) this.#watchOldest(now);
  }

  #watchOldest(now: number): void {
    const oldest = this.#waiting.first;
    if (oldest === null || oldest.since === UNSENT) return;
    this.#timer = setTimeout(() => this.#endTime(), Math.max(1, Math.ceil(oldest.since + this.#ms - now)));
    // The connection keeps the process alive, not the wait for an answer.
    this.#timer.unref();
  }

  #endTime(): void {
    // Of now: what comes to its end while answers are read has its own time.
    const endedAt = performance.now();
    setImmediate(() => {
      this.#timer = undefined;
      for (let one = this.#waiting.first; one !== null && one.since + this.#ms <= endedAt; one = this.#waiting.first) {
        remove(this.#waiting, one);
        one.giveUp(new LateAnswerError('Command timed out'));
      }
      this.#watchOldest(performance.now());
    });
  }
}
