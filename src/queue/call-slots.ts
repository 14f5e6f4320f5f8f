import type { CallSlots, DropReason, SlotRequest } from '../executor/call-slots.ts';
import type { ConcurrencySettings } from './concurrency-limit.ts';
import { createSlotCounts } from './slot-counts.ts';
import { createTurnCounts, type Turns } from './turn-counts.ts';
import { createWaitEstimate } from './wait-estimate.ts';
import { type Caller, createWaitingCalls, type Lane, type WaitingCall } from './waiting-calls.ts';

/** The slots of the service, and what the gate at its door asks of them. */
export type SlotQueue = CallSlots & {
  /** Whether so many calls wait that another one of this caller, who has its share already, would be dropped. */
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

export type CallSlotsOptions = ConcurrencySettings & {
  /** Calls that may wait, over all tools and callers. */
  readonly maxQueuedCalls: number;
  readonly now: () => number;
};

const NOTHING_TO_STOP = (): void => undefined;

/**
 * Slots with one bounded queue. Callers take turns: the next call is one of the caller with the fewest running, and
 * where the queue is full the newest call of the longest line goes. A call that cannot meet its deadline never starts.
 */
export const createCallSlots = (options: CallSlotsOptions): SlotQueue => {
  const { maxQueuedCalls, now } = options;
  const counts = createSlotCounts(options);
  const waiting = createWaitingCalls();
  const estimate = createWaitEstimate(options, counts, waiting);

  const turns = createTurnCounts();

  const drop = (request: SlotRequest, reason: DropReason): void => {
    if (counts.isSaturatedFor(request.tool)) turns.drop();
    request.dropped({ reason, retryAfterMs: estimate.retryAfterMs(counts.laneOf(request.tool)) });
  };
  // No call ever waits that could run: each release starts what it made room for, and nothing overtakes.
  const startWaiting = (): void => {
    if (waiting.size() === 0) return;
    const moment = now();
    for (let call = waiting.next(counts); call !== null; call = waiting.next(counts)) startOne(call, moment);
  };
  const startOne = ({ request, line }: WaitingCall, moment: number): void => {
    if (estimate.isTooLate(request, line.lane, moment)) {
      drop(request, 'deadline');
      return;
    }
    turns.start();
    counts.take(request.tool, line.lane, line.caller);
    request.taken();
  };
  /** Whether the newcomer may wait; where the queue is full, one of the two is dropped. */
  const isLetIn = (request: SlotRequest, lane: Lane, caller: Caller): boolean => {
    if (waiting.size() < maxQueuedCalls) return true;
    const leastWorthy = waiting.leastWorthy(lane, caller);
    if (leastWorthy !== null) waiting.leave(leastWorthy);
    drop(leastWorthy?.request ?? request, 'queue_full');
    return leastWorthy !== null;
  };

  return {
    tryTake: (tool, callerKey) => {
      const lane = counts.renewedLaneOf(tool);
      const caller = counts.callerOf(callerKey);
      if (!counts.isOpen(lane) || counts.isAtLimit(caller)) return false;
      turns.start();
      counts.take(tool, lane, caller);
      return true;
    },
    wait: (request) => {
      const lane = counts.renewedLaneOf(request.tool);
      const caller = counts.callerOf(request.caller);
      if (estimate.cannotBeInTime(request, lane, caller, now())) {
        drop(request, 'deadline');
        return NOTHING_TO_STOP;
      }
      if (!isLetIn(request, lane, caller)) return NOTHING_TO_STOP;
      const call = waiting.add(request, lane, caller);
      startWaiting();
      return () => waiting.leave(call);
    },
    learn: (tool, durationMs, ended) => {
      counts.laneOf(tool).pace.learn(durationMs, ended);
      estimate.pace.learn(durationMs, ended);
    },
    answered: (callerKey) => {
      counts.giveBackOfService(counts.callerOf(callerKey));
      startWaiting();
    },
    ended: (tool) => {
      counts.giveBackOfTool(tool, counts.laneOf(tool));
      startWaiting();
    },
    isFullFor: (callerKey) => {
      if (waiting.size() < maxQueuedCalls) return false;
      const caller = counts.callerOf(callerKey);
      const isFull = counts.areAllTaken('service') || counts.areAllTaken('hosts') || counts.isAtLimit(caller);
      return isFull && caller.waiting * waiting.callers() >= waiting.size();
    },
    takeTurns: turns.take,
    isIdle: () => counts.running() === 0 && waiting.size() === 0,
    retryAfterMs: () => estimate.retryAfterMs(null),
  };
};
