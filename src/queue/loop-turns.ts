import type { CallEnding } from '../executor/call-slots.ts';
import type { ToolWork } from './tool-work.ts';

/** A handler that has ended, at this moment. */
type EndedRun = { readonly durationMs: number; readonly ended: CallEnding; readonly moment: number };

/** What calls take of the event loop, turn by turn. In milliseconds. */
export type LoopTurns = {
  /** Whether a further call may begin in this turn. What the loop did up to now is counted for no call. */
  readonly hasRoom: (moment?: number) => boolean;
  /** A call begins, and takes of this turn what its tool's handlers usually do until they give way. */
  readonly begin: (work: ToolWork) => void;
  /** The handler that has just begun waits for something. */
  readonly gaveWay: (work: ToolWork) => void;
  readonly end: (work: ToolWork, run: EndedRun) => void;
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

// After so much work of calls in one turn requests, timers and refusals come first.
const MOST_WORK_MS = 50;
// Less is not counted: a call that works no longer costs no immediate, and no question for how long the loop was idle.
const LEAST_WORK_MS = 0.2;
const TURN_WEIGHT = 0.2;
// After so long without a full turn, what was learned of them holds no longer.
const REMEMBERED_MS = 1000;

export const createLoopTurns = ({ now, busyMs, nextTurn, onTurn }: LoopTurnsOptions): LoopTurns => {
  const takeWork = createWorkMeter(now(), busyMs);
  let spent = 0;
  let isCounting = false;
  let startedAt = 0;
  let turn = 0;
  let fullAt = Number.NEGATIVE_INFINITY;
  const turnMs = (): number => (now() - fullAt > REMEMBERED_MS ? 0 : turn);
  const isFull = (): boolean => spent >= MOST_WORK_MS;
  const endTurn = (): void => {
    isCounting = false;
    if (isFull()) {
      const lasted = now() - startedAt;
      turn = turnMs() === 0 ? lasted : turn + (lasted - turn) * TURN_WEIGHT;
      fullAt = now();
    }
    spent = 0;
    onTurn();
  };
  const spend = (ms: number): void => {
    if (ms < LEAST_WORK_MS) return;
    spent += ms;
    if (isCounting) return;
    isCounting = true;
    startedAt = now();
    nextTurn(endTurn);
  };
  const learnStart = (work: ToolWork, moment: number): void => {
    const workMs = takeWork(moment);
    spend(workMs - work.startMs());
    work.learnStart(workMs);
  };
  return {
    hasRoom: (moment = now()) => {
      takeWork(moment);
      return !isFull();
    },
    begin: (work) => spend(work.startMs()),
    gaveWay: (work) => learnStart(work, now()),
    end: (work, { durationMs, ended, moment }) => {
      if (ended === 'at_once') return learnStart(work, moment);
      const workMs = takeWork(moment);
      if (ended === 'cut_off') return work.learnCutOff(durationMs);
      // The calls that worked before it in this turn only held it up.
      work.learnEnd(Math.max(0, durationMs - spent), workMs);
      return spend(workMs);
    },
    turnMs,
  };
};

/** How long the loop was busy since this was last asked. Asking the clock takes longer than all else here: the moment is given. */
const createWorkMeter = (from: number, busyMs: () => number): ((moment: number) => number) => {
  let askedAt = from;
  let busyAt = busyMs();
  return (moment) => {
    // A moment may have been read before another call's.
    const passed = Math.max(0, moment - askedAt);
    askedAt += passed;
    if (passed < LEAST_WORK_MS) {
      busyAt += passed;
      return passed;
    }
    const busy = busyMs();
    const work = Math.min(passed, Math.max(0, busy - busyAt));
    busyAt = busy;
    return work;
  };
};
