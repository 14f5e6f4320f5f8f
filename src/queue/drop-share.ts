/** How many of a caller's latest calls were dropped while the event loop was late, and so whether its next batch is worth reading. */
export class DropShare {
  #share = 0;
  #droppedAt = Number.NEGATIVE_INFINITY;
  #asked = 0;

  start(): void {
    if (this.#share !== 0) this.#share = this.#share < LEAST_SHARE ? 0 : this.#share * (1 - WEIGHT);
  }

  drop(moment: number): void {
    if (moment - this.#droppedAt > REMEMBERED_MS) this.#share = 0;
    this.#share += (1 - this.#share) * WEIGHT;
    this.#droppedAt = moment;
  }

  /** Nearly all were dropped of late. One batch in sixteen is read nevertheless, and tells whether that is still so. */
  refusesNext(now: () => number): boolean {
    if (this.#share < MOST_SHARE || now() - this.#droppedAt > REMEMBERED_MS) return false;
    this.#asked = (this.#asked + 1) % READ_ONE_OF;
    return this.#asked !== 0;
  }
}

// A hundred and fifty dropped calls in a row, which take 30 ms to read and refuse.
const WEIGHT = 1 / 64;
const MOST_SHARE = 0.9;
const LEAST_SHARE = 0.001;
const READ_ONE_OF = 16;
// What was dropped before says nothing of now.
const REMEMBERED_MS = 250;
