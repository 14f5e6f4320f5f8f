import { LEAST_COUNTED_MS, type ToolWork } from './tool-work.ts';

/** A handler that gave way and has ended, at this moment. */
type EndedRun = { readonly durationMs: number; readonly ended: 'by_itself' | 'cut_off'; readonly moment: number };

export type LoopTurnsOptions = {
  readonly now: () => number;
  /** How long the event loop has been busy in all. */
  readonly busyMs: () => number;
  /** Calls back once what is ready has been read and timers have run. */
  readonly nextTurn: (listener: () => void) => void;
  /** A turn in which calls have worked is over. */
  readonly onTurn: () => void;
};

// As long as it takes to read and drop five hundred calls: fewer keep nobody waiting.
const LATE_MS = 100;
// After so much work of calls in one turn requests, timers and refusals come first.
const MOST_WORK_MS = 50;
const TURN_WEIGHT = 0.2;
// After so long without a full turn, what was learned of them holds no longer.
const REMEMBERED_MS = 1000;

/** What calls take of the event loop, turn by turn. In milliseconds. */
export class LoopTurns {
  readonly #options: LoopTurnsOptions;
  readonly #meter: WorkMeter;
  /** Handlers that gave way and have not ended. */
  #away = 0;
  #spentMs = 0;
  #isFull = false;
  #isCounting = false;
  #startedAt = 0;
  #turnMs = 0;
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(options: LoopTurnsOptions) {
    this.#options = options;
    this.#meter = new WorkMeter(options.now(), options.busyMs);
  }

  /** Whether a further call may begin in this turn. What the loop did up to now is counted for no call. */
  hasRoom(moment: number): boolean {
    if (this.#away > 0) this.#meter.take(moment);
    return !this.#isFull;
  }

  /** A call begins, and takes of this turn what its tool's handlers usually do until they give way. */
  begin(work: ToolWork): void {
    const startMs = work.startMs();
    if (startMs > 0) this.#spend(startMs);
  }

  /** The call that began does not run after all. */
  giveUp(work: ToolWork): void {
    const startMs = work.startMs();
    if (startMs > 0) this.#spend(-startMs);
  }

  /** The handler that began `workMs` ago waits for something. */
  gaveWay(work: ToolWork, workMs: number, moment: number): void {
    this.#away += 1;
    this.#meter.take(moment);
    this.#learnStart(work, workMs);
  }

  /** The handler that began `workMs` ago has ended without giving way. */
  endAtOnce(work: ToolWork, workMs: number, moment: number): void {
    if (work.isBrief && workMs < LEAST_COUNTED_MS) return;
    if (this.#away > 0) this.#meter.take(moment);
    this.#learnStart(work, workMs);
  }

  /** A handler that gave way has ended. */
  endLater(work: ToolWork, { durationMs, ended, moment }: EndedRun): void {
    this.#away = Math.max(0, this.#away - 1);
    const workMs = this.#meter.take(moment);
    if (ended === 'cut_off') {
      work.learnCutOff(durationMs);
      return;
    }
    // The calls that worked before it in this turn only held it up.
    work.learnEnd(Math.max(0, durationMs - this.#spentMs), workMs);
    if (workMs >= LEAST_COUNTED_MS) this.#spend(workMs);
  }

  /** A call is dropped. Whether it was one of so many that this turn has lasted too long. */
  dropIsLate(moment: number): boolean {
    if (!this.#isCounting) this.#beginTurn(moment);
    return moment - this.#startedAt > LATE_MS;
  }

  /** How long turns are of late; 0 where calls leave the loop room. */
  turnMs(): number {
    return this.#options.now() - this.#fullAt > REMEMBERED_MS ? 0 : this.#turnMs;
  }

  #learnStart(work: ToolWork, workMs: number): void {
    if (work.isBrief && workMs < LEAST_COUNTED_MS) return;
    // What was charged when it began was a guess.
    const chargedMs = work.startMs();
    if (chargedMs > 0 || workMs >= LEAST_COUNTED_MS) this.#spend(workMs - chargedMs);
    work.learnStart(workMs);
  }

  #spend(ms: number): void {
    this.#spentMs = Math.max(0, this.#spentMs + ms);
    this.#isFull = this.#spentMs >= MOST_WORK_MS;
    if (!this.#isCounting && this.#spentMs > 0) this.#beginTurn(this.#options.now());
  }

  #beginTurn(moment: number): void {
    this.#isCounting = true;
    this.#startedAt = moment;
    this.#options.nextTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    const { now, onTurn } = this.#options;
    this.#isCounting = false;
    if (this.#isFull) {
      const lastedMs = now() - this.#startedAt;
      const beforeMs = this.turnMs();
      this.#turnMs = beforeMs === 0 ? lastedMs : beforeMs + (lastedMs - beforeMs) * TURN_WEIGHT;
      this.#fullAt = now();
    }
    this.#spentMs = 0;
    this.#isFull = false;
    onTurn();
  }
}

/** How long the loop was busy since this was last asked. Asking the clock takes longer than all else here: the moment is given. */
class WorkMeter {
  readonly #busyMs: () => number;
  #askedAt: number;
  #busyAt: number;

  constructor(from: number, busyMs: () => number) {
    this.#busyMs = busyMs;
    this.#askedAt = from;
    this.#busyAt = busyMs();
  }

  take(moment: number): number {
    // A moment may have been read before another call's.
    const passedMs = Math.max(0, moment - this.#askedAt);
    this.#askedAt += passedMs;
    if (passedMs < LEAST_COUNTED_MS) {
      this.#busyAt += passedMs;
      return passedMs;
    }
    const busyMs = this.#busyMs();
    const workMs = Math.min(passedMs, Math.max(0, busyMs - this.#busyAt));
    this.#busyAt = busyMs;
    return workMs;
  }
}
