import { LEAST_COUNTED_MS, type ToolWork } from './tool-work.ts';

/** A handler that gave way and has ended, at this moment. */
type EndedRun = { readonly durationMs: number; readonly ended: 'by_itself' | 'cut_off'; readonly moment: number };

/** What calls take of the event loop, turn by turn. In milliseconds. */
export type LoopTurns = {
  /** Whether a further call may begin in this turn. What the loop did up to now is counted for no call. */
  readonly hasRoom: (moment: number) => boolean;
  /** A call begins, and takes of this turn what its tool's handlers usually do until they give way. */
  readonly begin: (work: ToolWork) => void;
  /** The call that began does not run after all. */
  readonly giveUp: (work: ToolWork) => void;
  /** The handler that began `workMs` ago waits for something. */
  readonly gaveWay: (work: ToolWork, workMs: number, moment: number) => void;
  /** The handler that began `workMs` ago has ended without giving way. */
  readonly endAtOnce: (work: ToolWork, workMs: number, moment: number) => void;
  /** A handler that gave way has ended. */
  readonly endLater: (work: ToolWork, run: EndedRun) => void;
  /** A call is dropped. Whether it was one of so many that this turn has lasted too long. */
  readonly dropIsLate: (moment: number) => boolean;
  /** How long turns are of late; 0 where calls leave the loop room. */
  readonly turnMs: () => number;
};

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

export const createLoopTurns = ({ now, busyMs, nextTurn, onTurn }: LoopTurnsOptions): LoopTurns => {
  const meter = new WorkMeter(now(), busyMs);
  let away = 0;
  let spent = 0;
  let isFull = false;
  let isCounting = false;
  let startedAt = 0;
  let turn = 0;
  let fullAt = Number.NEGATIVE_INFINITY;
  const turnMs = (): number => (now() - fullAt > REMEMBERED_MS ? 0 : turn);
  const endTurn = (): void => {
    isCounting = false;
    if (isFull) {
      const lasted = now() - startedAt;
      turn = turnMs() === 0 ? lasted : turn + (lasted - turn) * TURN_WEIGHT;
      fullAt = now();
    }
    spent = 0;
    isFull = false;
    onTurn();
  };
  const spend = (ms: number): void => {
    spent = Math.max(0, spent + ms);
    isFull = spent >= MOST_WORK_MS;
    if (!isCounting && spent > 0) beginTurn(now());
  };
  const beginTurn = (moment: number): void => {
    isCounting = true;
    startedAt = moment;
    nextTurn(endTurn);
  };
  const learnStart = (work: ToolWork, workMs: number): void => {
    if (work.isBrief && workMs < LEAST_COUNTED_MS) return;
    // What was charged when it began was a guess.
    const charged = work.startMs();
    if (charged > 0 || workMs >= LEAST_COUNTED_MS) spend(workMs - charged);
    work.learnStart(workMs);
  };
  return {
    hasRoom: (moment) => {
      if (away > 0) meter.take(moment);
      return !isFull;
    },
    begin: (work) => {
      const startMs = work.startMs();
      if (startMs > 0) spend(startMs);
    },
    giveUp: (work) => {
      const startMs = work.startMs();
      if (startMs > 0) spend(-startMs);
    },
    gaveWay: (work, workMs, moment) => {
      away += 1;
      meter.take(moment);
      learnStart(work, workMs);
    },
    endAtOnce: (work, workMs, moment) => {
      if (work.isBrief && workMs < LEAST_COUNTED_MS) return;
      if (away > 0) meter.take(moment);
      learnStart(work, workMs);
    },
    endLater: (work, { durationMs, ended, moment }) => {
      away = Math.max(0, away - 1);
      const workMs = meter.take(moment);
      if (ended === 'cut_off') return work.learnCutOff(durationMs);
      // The calls that worked before it in this turn only held it up.
      work.learnEnd(Math.max(0, durationMs - spent), workMs);
      if (workMs >= LEAST_COUNTED_MS) spend(workMs);
    },
    dropIsLate: (moment) => {
      if (!isCounting) beginTurn(moment);
      return moment - startedAt > LATE_MS;
    },
    turnMs,
  };
};

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
    const passed = Math.max(0, moment - this.#askedAt);
    this.#askedAt += passed;
    if (passed < LEAST_COUNTED_MS) {
      this.#busyAt += passed;
      return passed;
    }
    const busy = this.#busyMs();
    const work = Math.min(passed, Math.max(0, busy - this.#busyAt));
    this.#busyAt = busy;
    return work;
  }
}
