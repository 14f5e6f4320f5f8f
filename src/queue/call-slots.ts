import type { Tool } from '../tools/tool.ts';
import type { ConcurrencySettings } from './concurrency-limit.ts';
import { createSlotCounts } from './slot-counts.ts';
import type { DropReason, SlotRequest } from './slot-request.ts';
import { createTurnCounts, type Turns } from './turn-counts.ts';
import { createWaitEstimate } from './wait-estimate.ts';
import { type Caller, createWaitingCalls, type Lane, type WaitingCall } from './waiting-calls.ts';

/**
 * What a call needs to run: a slot of the service, one of its tool and, where the tool is hosted, one of the hosts. The
 * service's is given back when the call is answered, so that handlers which never end cannot eat it; the others when
 * the handler really ends.
 */
export type CallSlots = {
  /** Takes the slots for a call now; false where one of them is not free. */
  readonly tryTake: (tool: Tool, caller: string) => boolean;
  /** Waits for the slots or is dropped, either of which may happen at once; gives the way to stop waiting. */
  readonly wait: (request: SlotRequest) => () => void;
  /** How long a call took, so that no later one is begun in vain. */
  readonly learn: (tool: Tool, durationMs: number, ended: 'by_itself' | 'cut_off') => void;
  /** The call has its answer. Once for each that was taken. */
  readonly answered: (caller: string) => void;
  /** The handler has ended, and its host is free. Once for each that was taken. */
  readonly ended: (tool: Tool) => void;
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
export const createCallSlots = (options: CallSlotsOptions): CallSlots => {
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
    for (let call = waiting.next(counts.isOpen); call !== null; call = waiting.next(counts.isOpen))
      startOne(call, moment);
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
      if (!counts.isOpen(lane)) return false;
      turns.start();
      counts.take(tool, lane, counts.callerOf(callerKey));
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
    isFullFor: (callerKey) =>
      waiting.size() >= maxQueuedCalls &&
      (counts.areAllTaken('service') || counts.areAllTaken('hosts')) &&
      counts.callerOf(callerKey).waiting * waiting.callers() >= waiting.size(),
    takeTurns: turns.take,
    isIdle: () => counts.running() === 0 && waiting.size() === 0,
    retryAfterMs: () => estimate.retryAfterMs(null),
  };
};
