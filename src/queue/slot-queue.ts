import type { CallSlots, DropReason, SlotRequest } from '../executor/call-slots.ts';
import type { Tool } from '../tools/tool.ts';
import { LoopTurns, type LoopTurnsOptions } from './loop-turns.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { type ConcurrencySettings, hasRoom, isFull, SlotCounts, widthOf } from './slot-counts.ts';
import { Pace } from './tool-work.ts';
import { type Caller, type Lane, type WaitingCall, WaitingCalls } from './waiting-calls.ts';

/** How many calls were started, and how many were dropped for want of what all of them share. */
type Turns = { readonly started: number; readonly dropped: number };

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

const LEAST_RETRY_MS = 100;
const USUAL_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
// A tool, or an upstream, that gives back no slot for twice its time limit, and at least so long, hangs: nobody should wait for it.
const LEAST_STUCK_MS = 10_000;
// The guess is one: what is let in should end before its deadline, not just at it.
const WAIT_MARGIN = 1.2;
const RUN_MARGIN = 1.5;

/**
 * Slots with one bounded queue. Callers take turns: the next call is one of the caller with the fewest running, and
 * where the queue is full the newest call of the longest line goes. A call that cannot meet its deadline never starts,
 * and none starts in a turn of the event loop in which calls have worked long enough.
 *
 * A call is running (`tryTake`, or `taken` after `wait`), waiting in its caller's line for its tool, or dropped. Each slot
 * that is given back, and each turn of the loop that ends, starts what it made room for; no call waits that could run.
 */
class SlotsWithQueue implements SlotQueue {
  readonly #options: CallSlotsOptions;
  readonly #counts: SlotCounts;
  readonly #waiting = new WaitingCalls();
  readonly #loop: LoopTurns;
  /** How long calls of the whole service take. */
  readonly #pace = new Pace();
  #turns = { started: 0, dropped: 0 };

  constructor(options: CallSlotsOptions) {
    this.#options = options;
    this.#counts = new SlotCounts(options);
    this.#loop = new LoopTurns({ ...options, onTurn: () => this.#startWaiting() });
  }

  tryTake(tool: Tool, callerKey: string, moment = this.#options.now()): boolean {
    const lane = this.#counts.renewedLaneOf(tool);
    const caller = this.#counts.callerOf(callerKey);
    if (!this.#loop.hasRoom(moment) || !this.#counts.isOpen(lane) || this.#counts.isAtLimit(caller)) return false;
    this.#take(tool, lane, caller);
    return true;
  }

  wait(request: SlotRequest): () => void {
    const lane = this.#counts.renewedLaneOf(request.tool);
    const caller = this.#counts.callerOf(request.caller);
    if (this.#cannotBeInTime(request, lane, caller, this.#options.now())) return this.#drop(request, 'deadline');
    if (!this.#makeRoom(lane, caller)) return this.#drop(request, 'queue_full');
    const call = this.#waiting.add(request, lane, caller);
    this.#startWaiting();
    return () => {
      this.#waiting.leave(call);
      call.takeBack();
    };
  }

  gaveUp(tool: Tool): void {
    this.#loop.giveUp(this.#counts.laneOf(tool).work);
  }

  gaveWay(tool: Tool, workMs: number, moment: number): void {
    this.#loop.gaveWay(this.#counts.laneOf(tool).work, workMs, moment);
  }

  learn(...[tool, durationMs, ended, moment = this.#options.now()]: Parameters<CallSlots['learn']>): void {
    const lane = this.#counts.laneOf(tool);
    const hadRoom = hasRoom(lane);
    if (ended === 'at_once') this.#loop.endAtOnce(lane.work, durationMs, moment);
    else this.#loop.endLater(lane.work, { durationMs, ended, moment });
    if (hadRoom && !hasRoom(lane)) lane.busySince = moment;
    lane.pace.learn(durationMs, ended);
    this.#pace.learn(durationMs, ended);
  }

  answered(callerKey: string): void {
    this.#counts.giveBackOfService(this.#counts.callerOf(callerKey));
    this.#startWaiting();
  }

  ended(tool: Tool): void {
    this.#counts.giveBackOfTool(tool, this.#counts.laneOf(tool));
    this.#startWaiting();
  }

  isFullFor(callerKey: string): boolean {
    const { maxQueuedCalls, now } = this.#options;
    const caller = this.#counts.callerOf(callerKey);
    if (caller.drops.refusesNext(now)) return true;
    const { size, callers } = this.#waiting;
    if (size < maxQueuedCalls) return false;
    const isTaken =
      this.#counts.areAllTaken('service') || this.#counts.areAllTaken('hosts') || this.#counts.isAtLimit(caller);
    return isTaken && caller.waiting * callers >= size;
  }

  takeTurns(): Turns {
    const turns = this.#turns;
    this.#turns = { started: 0, dropped: 0 };
    return turns;
  }

  isIdle(): boolean {
    return this.#counts.running === 0 && this.#waiting.size === 0;
  }

  /** In how many milliseconds those that wait, for this tool or at all, should have had their turn. */
  retryAfterMs(lane: Lane | null = null): number {
    const ofService = (this.#waiting.size * this.#pace.meanMs()) / this.#options.maxConcurrentCalls;
    const ofLane = lane === null ? 0 : (lane.waiting * lane.pace.meanMs()) / widthOf(lane);
    const ofLoop = lane === null ? 0 : lane.waiting * lane.work.wholeMs();
    const ms = Math.ceil(Math.max(ofService, ofLane, ofLoop));
    return ms === 0 ? USUAL_RETRY_MS : Math.min(Math.max(ms, LEAST_RETRY_MS), LONGEST_RETRY_MS);
  }

  #take(tool: Tool, lane: Lane, caller: Caller): void {
    this.#turns.started += 1;
    caller.drops.start();
    this.#counts.take(tool, lane, caller);
    this.#loop.begin(lane.work);
  }

  /** Gives the way to take it back as long as it is not told. */
  #drop(request: SlotRequest, reason: DropReason): () => void {
    const { pace, now } = this.#options;
    if (this.#counts.isSaturatedFor(request.tool) || this.#loop.turnMs() > 0) this.#turns.dropped += 1;
    const moment = now();
    if (this.#loop.dropIsLate(moment)) this.#counts.callerOf(request.caller).drops.drop(moment);
    const retryAfterMs = this.retryAfterMs(this.#counts.laneOf(request.tool));
    return pace.tell(() => request.dropped({ reason, retryAfterMs }));
  }

  #startWaiting(): void {
    if (this.#waiting.size === 0) return;
    const moment = this.#options.now();
    while (this.#loop.hasRoom(moment)) {
      const call = this.#waiting.next(this.#counts);
      if (call === null) return;
      this.#start(call, moment);
    }
  }

  #start(call: WaitingCall, moment: number): void {
    const { request, line } = call;
    const isTooLate = moment >= request.endsAt || moment + this.#needsMs(request, line.lane) > request.endsAt;
    if (isTooLate) call.takeBack = this.#drop(request, 'deadline');
    else {
      this.#take(request.tool, line.lane, line.caller);
      request.taken();
    }
  }

  /** Drops a call that is worth less than a newcomer of this tool and caller; false where the newcomer is. */
  #makeRoom(lane: Lane, caller: Caller): boolean {
    if (this.#waiting.size < this.#options.maxQueuedCalls) return true;
    const leastWorthy = this.#waiting.leastWorthy(lane, caller);
    if (leastWorthy === null) return false;
    this.#waiting.leave(leastWorthy);
    leastWorthy.takeBack = this.#drop(leastWorthy.request, 'queue_full');
    return true;
  }

  /** A newcomer would not get its slot early enough, or its tool gives none back at all. Rather too hopeful than too strict. */
  #cannotBeInTime(request: SlotRequest, lane: Lane, caller: Caller, moment: number): boolean {
    if (isStuck(lane, moment)) return true;
    return moment + this.#waitMs(lane, caller) * WAIT_MARGIN + this.#needsMs(request, lane) > request.endsAt;
  }

  // A batch may have lain unread for as long as a turn takes, and its client has counted that.
  #needsMs({ timeoutMs }: SlotRequest, { pace }: Lane): number {
    const usualMs = pace.usualMs();
    return Math.min(Math.max(usualMs * RUN_MARGIN, usualMs + this.#loop.turnMs()), timeoutMs);
  }

  /** Before a caller's next call each other caller has as many turns as itself. */
  #waitMs(lane: Lane, caller: Caller): number {
    const { maxConcurrentCalls, callerConcurrency } = this.#options;
    const meanMs = this.#pace.meanMs();
    const aheadOfAll = Math.min(this.#waiting.size, caller.waiting * this.#waiting.callers);
    const aheadInLane = Math.min(lane.waiting, (caller.lines.get(lane)?.calls.size ?? 0) * lane.lines.size);
    return Math.max(
      (aheadInLane * lane.pace.meanMs()) / this.#widthAhead(lane),
      aheadInLane * lane.work.wholeMs(),
      this.#counts.isAtLimit(caller) ? (caller.waiting * meanMs) / callerConcurrency : 0,
      this.#counts.areAllTaken('service') ? (aheadOfAll * meanMs) / maxConcurrentCalls : 0,
    );
  }

  /** How many calls run at once of whatever holds this tool's calls up; the fewest count. */
  #widthAhead({ running, limit, upstream, tool }: Lane): number {
    const isHeldByHosts = tool.runsIn === 'host' && this.#counts.areAllTaken('hosts');
    return Math.min(
      running < limit ? Number.POSITIVE_INFINITY : limit,
      upstream !== null && isFull(upstream) ? upstream.limit : Number.POSITIVE_INFINITY,
      isHeldByHosts ? this.#options.maxHostedCalls : Number.POSITIVE_INFINITY,
    );
  }
}

const isStuck = (lane: Lane, moment: number): boolean => {
  const stuckMs = Math.max(2 * lane.tool.timeoutMs, LEAST_STUCK_MS);
  const { upstream } = lane;
  if (!hasRoom(lane) && moment - lane.busySince > stuckMs) return true;
  return upstream !== null && isFull(upstream) && moment - upstream.busySince > stuckMs;
};

export const createCallSlots = (options: CallSlotsOptions): SlotQueue => new SlotsWithQueue(options);
