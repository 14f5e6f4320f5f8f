import type { CallSlots, DropReason, SlotRequest } from '../executor/call-slots.ts';
import type { Tool } from '../tools/tool.ts';
import type { ConcurrencySettings } from './concurrency-limit.ts';
import { createLoopTurns, type LoopTurns, type LoopTurnsOptions } from './loop-turns.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { createSlotCounts, hasRoom, type SlotCounts } from './slot-counts.ts';
import { createTurnCounts, type TurnCounts, type Turns } from './turn-counts.ts';
import { createWaitEstimate, type WaitEstimate } from './wait-estimate.ts';
import { type Caller, createWaitingCalls, type Lane, type WaitingCall, type WaitingCalls } from './waiting-calls.ts';

/** The slots of the service, and what the gate at its door asks of them. */
export type SlotQueue = CallSlots & {
  /**
   * Whether so many calls wait that another one of this caller, who has its share already, would be dropped, or whether
   * nearly all of its latest ones were, and the event loop did nothing else.
   */
  readonly isFullFor: (caller: string) => boolean;
  /**
   * How many calls were started, and how many dropped while all slots of the service or all hosts were taken, since it
   * was last asked. Calls that only their own tool's limit holds up do not count: that is not the service's overload.
   */
  readonly takeTurns: () => Turns;
  /** No call runs or waits; handlers that go on after their answer do not count. */
  readonly isIdle: () => boolean;
  /** In how many milliseconds a slot may be had again, at a guess. */
  readonly retryAfterMs: () => number;
};

export type CallSlotsOptions = ConcurrencySettings &
  Pick<LoopTurnsOptions, 'busyMs' | 'nextTurn'> & {
    /** Calls that may wait, over all tools and callers. */
    readonly maxQueuedCalls: number;
    /** When those that are dropped are told. */
    readonly pace: RefusalPace;
    readonly now: () => number;
  };

/** What is known of the calls, and of what they take. */
type Parts = {
  readonly options: CallSlotsOptions;
  readonly counts: SlotCounts;
  readonly waiting: WaitingCalls;
  readonly estimate: WaitEstimate;
  readonly loop: LoopTurns;
  readonly turns: TurnCounts;
};

/**
 * Slots with one bounded queue. Callers take turns: the next call is one of the caller with the fewest running, and
 * where the queue is full the newest call of the longest line goes. A call that cannot meet its deadline never starts,
 * and none starts in a turn of the event loop in which calls have worked long enough.
 */
export const createCallSlots = (options: CallSlotsOptions): SlotQueue => {
  const { maxQueuedCalls, now } = options;
  const counts = createSlotCounts(options);
  const waiting = createWaitingCalls();
  const loop = createLoopTurns({ ...options, onTurn: () => moves.startWaiting() });
  const estimate = createWaitEstimate(options, counts, waiting, loop.turnMs);
  const turns = createTurnCounts();
  const moves = createMoves({ options, counts, waiting, estimate, loop, turns });
  return {
    tryTake: (tool, callerKey, moment = now()) => {
      const lane = counts.renewedLaneOf(tool);
      const caller = counts.callerOf(callerKey);
      if (!loop.hasRoom(moment) || !counts.isOpen(lane) || counts.isAtLimit(caller)) return false;
      moves.take(tool, lane, caller);
      return true;
    },
    wait: (request) => {
      const lane = counts.renewedLaneOf(request.tool);
      const caller = counts.callerOf(request.caller);
      if (estimate.cannotBeInTime(request, lane, caller, now())) return moves.drop(request, 'deadline');
      if (!moves.makeRoom(lane, caller)) return moves.drop(request, 'queue_full');
      const call = waiting.add(request, lane, caller);
      moves.startWaiting();
      return () => {
        waiting.leave(call);
        call.takeBack();
      };
    },
    gaveUp: (tool) => loop.giveUp(counts.laneOf(tool).work),
    gaveWay: (tool, workMs, moment) => loop.gaveWay(counts.laneOf(tool).work, workMs, moment),
    learn: (tool, durationMs, ended, moment = now()) => {
      const lane = counts.laneOf(tool);
      const { work, pace } = lane;
      const hadRoom = hasRoom(lane);
      if (ended === 'at_once') loop.endAtOnce(work, durationMs, moment);
      else loop.endLater(work, { durationMs, ended, moment });
      if (hadRoom && !hasRoom(lane)) lane.busySince = moment;
      pace.learn(durationMs, ended);
      estimate.pace.learn(durationMs, ended);
    },
    answered: (callerKey) => {
      counts.giveBackOfService(counts.callerOf(callerKey));
      moves.startWaiting();
    },
    ended: (tool) => {
      counts.giveBackOfTool(tool, counts.laneOf(tool));
      moves.startWaiting();
    },
    isFullFor: (callerKey) => {
      const caller = counts.callerOf(callerKey);
      if (caller.drops.refusesNext(now)) return true;
      if (waiting.size() < maxQueuedCalls) return false;
      const isFull = counts.areAllTaken('service') || counts.areAllTaken('hosts') || counts.isAtLimit(caller);
      return isFull && caller.waiting * waiting.callers() >= waiting.size();
    },
    takeTurns: turns.take,
    isIdle: () => counts.running() === 0 && waiting.size() === 0,
    retryAfterMs: () => estimate.retryAfterMs(null),
  };
};

/** How calls come into the queue, out of it, and to their slots. */
const createMoves = ({ options, counts, waiting, estimate, loop, turns }: Parts) => {
  const { maxQueuedCalls, pace, now } = options;
  const take = (tool: Tool, lane: Lane, caller: Caller): void => {
    turns.start();
    caller.drops.start();
    counts.take(tool, lane, caller);
    loop.begin(lane.work);
  };
  /** Gives the way to take it back as long as it is not told. */
  const drop = (request: SlotRequest, reason: DropReason): (() => void) => {
    if (counts.isSaturatedFor(request.tool) || loop.turnMs() > 0) turns.drop();
    const moment = now();
    if (loop.dropIsLate(moment)) counts.callerOf(request.caller).drops.drop(moment);
    const retryAfterMs = estimate.retryAfterMs(counts.laneOf(request.tool));
    return pace.tell(() => request.dropped({ reason, retryAfterMs }));
  };
  const startOne = (call: WaitingCall, moment: number): void => {
    const { request, line } = call;
    if (estimate.isTooLate(request, line.lane, moment)) call.takeBack = drop(request, 'deadline');
    else {
      take(request.tool, line.lane, line.caller);
      request.taken();
    }
  };
  return {
    take,
    drop,
    // No call ever waits that could run: each release, and each turn, starts what it made room for, and nothing overtakes.
    startWaiting: (): void => {
      if (waiting.size() === 0) return;
      const moment = now();
      while (loop.hasRoom(moment)) {
        const call = waiting.next(counts);
        if (call === null) return;
        startOne(call, moment);
      }
    },
    /** Drops a call that is worth less than a newcomer of this tool and caller; false where the newcomer is. */
    makeRoom: (lane: Lane, caller: Caller): boolean => {
      if (waiting.size() < maxQueuedCalls) return true;
      const leastWorthy = waiting.leastWorthy(lane, caller);
      if (leastWorthy === null) return false;
      waiting.leave(leastWorthy);
      leastWorthy.takeBack = drop(leastWorthy.request, 'queue_full');
      return true;
    },
  };
};
