import type { CallSlots, DropReason, SlotRequest } from '../executor/call-slots.ts';
import type { Tool } from '../tools/tool.ts';
import { LoopSlices, type LoopSlicesOptions } from './loop-slices.ts';
import type { RefusalPace } from './refusal-pace.ts';
import { type ConcurrencySettings, hasRoom, isFull, SlotCounts, widthOf } from './slot-counts.ts';
import { Pace } from './tool-work.ts';
import { type Caller, type ToolQueue, type WaitingCall, WaitingCalls } from './waiting-calls.ts';

/** How many calls were started, and how many were dropped for want of what all of them share. */

export type SlotQueueOptions = ConcurrencySettings &
  Pick<LoopSlicesOptions, 'busyMs' | 'afterSlice'> & {
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
 * Slots with one bounded queue. The next call is one of the caller with the fewest running, and
 * where the queue is full the newest call of the longest of their queues goes. A call that cannot meet its deadline never starts,
 * and none starts in a slice of the event loop that is full.
 *
 * A call is running (`tryTake`, or `taken` after `wait`), waiting in its queue for its tool, or dropped. Each slot
 * that is released, and each slice that ends, starts what it made room for; no call waits that could run.
 */
export class SlotQueue implements CallSlots {
  readonly #options: SlotQueueOptions;
  readonly #counts: SlotCounts;
  readonly #waiting = new WaitingCalls();
  readonly #loop: LoopSlices;
  /** How long calls of the whole service take. */
  readonly #pace = new Pace();
  #startCounts = { started: 0, dropped: 0 };

  constructor(options: SlotQueueOptions) {
    this.#options = options;
    this.#counts = new SlotCounts(options);
    this.#loop = new LoopSlices({ ...options, sliceEnded: () => this.#startWaiting() });
  }

  tryTake(tool: Tool, callerKey: string, moment = this.#options.now()): boolean {
    const toolQueue = this.#counts.renewedToolQueueOf(tool);
    const caller = this.#counts.callerOf(callerKey);
    if (!this.#loop.hasRoom(moment) || !this.#counts.isOpen(toolQueue) || this.#counts.isAtLimit(caller)) return false;
    this.#take(tool, toolQueue, caller);
    return true;
  }

  wait(request: SlotRequest): () => void {
    const toolQueue = this.#counts.renewedToolQueueOf(request.tool);
    const caller = this.#counts.callerOf(request.caller);
    if (this.#cannotBeInTime(request, toolQueue, caller, this.#options.now())) return this.#drop(request, 'deadline');
    if (!this.#makeRoom(toolQueue, caller)) return this.#drop(request, 'queue_full');
    const call = this.#waiting.add(request, toolQueue, caller);
    this.#startWaiting();
    return () => {
      this.#waiting.leave(call);
      call.cancelDrop();
    };
  }

  gaveUp(tool: Tool): void {
    this.#loop.giveUp(this.#counts.toolQueueOf(tool).work);
  }

  gaveWay(tool: Tool, workMs: number, moment: number): void {
    this.#loop.gaveWay(this.#counts.toolQueueOf(tool).work, workMs, moment);
  }

  learn(...[tool, durationMs, ended, moment = this.#options.now()]: Parameters<CallSlots['learn']>): void {
    const toolQueue = this.#counts.toolQueueOf(tool);
    const hadRoom = hasRoom(toolQueue);
    if (ended === 'at_once') this.#loop.endAtOnce(toolQueue.work, durationMs, moment);
    else this.#loop.endLater(toolQueue.work, { durationMs, ended, moment });
    if (hadRoom && !hasRoom(toolQueue)) toolQueue.busySince = moment;
    toolQueue.pace.learn(durationMs, ended);
    this.#pace.learn(durationMs, ended);
  }

  answered(callerKey: string): void {
    this.#counts.releaseService(this.#counts.callerOf(callerKey));
    this.#startWaiting();
  }

  ended(tool: Tool): void {
    this.#counts.releaseTool(tool, this.#counts.toolQueueOf(tool));
    this.#startWaiting();
  }

  /**
   * Whether another call of this caller would be dropped: so many wait, and it has its share already. Also while nearly all of
   * its latest calls were dropped and the event loop did nothing else.
   */
  isFullFor(callerKey: string): boolean {
    const { maxQueuedCalls, now } = this.#options;
    const caller = this.#counts.callerOf(callerKey);
    if (caller.drops.refusesNext(now)) return true;
    const { size, callers } = this.#waiting;
    if (size < maxQueuedCalls) return false;
    const isTaken =
      this.#counts.areAllInUse('service') || this.#counts.areAllInUse('hosts') || this.#counts.isAtLimit(caller);
    return isTaken && caller.waiting * callers >= size;
  }

  /**
   * How many calls were started, and how many dropped while all slots of the service or all hosts were in use, since the
   * last question. Calls that only the limit of their own tool delays do not count: the service is not overloaded by them.
   */
  takeStartCounts(): { readonly started: number; readonly dropped: number } {
    const counts = this.#startCounts;
    this.#startCounts = { started: 0, dropped: 0 };
    return counts;
  }

  /** Calls that run, and that wait for a slot. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#counts.running, waiting: this.#waiting.size };
  }

  /** No call runs or waits. A handler that continues after its answer does not count. */
  isIdle(): boolean {
    return this.#counts.running === 0 && this.#waiting.size === 0;
  }

  /** In how many milliseconds the calls that wait, for this tool or at all, should have begun. */
  retryAfterMs(toolQueue: ToolQueue | null = null): number {
    const ofService = (this.#waiting.size * this.#pace.meanMs()) / this.#options.maxConcurrentCalls;
    const ofTool = toolQueue === null ? 0 : (toolQueue.waiting * toolQueue.pace.meanMs()) / widthOf(toolQueue);
    const ofLoop = toolQueue === null ? 0 : toolQueue.waiting * toolQueue.work.wholeMs();
    const ms = Math.ceil(Math.max(ofService, ofTool, ofLoop));
    return ms === 0 ? USUAL_RETRY_MS : Math.min(Math.max(ms, LEAST_RETRY_MS), LONGEST_RETRY_MS);
  }

  #take(tool: Tool, toolQueue: ToolQueue, caller: Caller): void {
    this.#startCounts.started += 1;
    caller.drops.start();
    this.#counts.acquire(tool, toolQueue, caller);
    this.#loop.begin(toolQueue.work);
  }

  /** Gives the way to take it back as long as it is not told. */
  #drop(request: SlotRequest, reason: DropReason): () => void {
    const { pace, now } = this.#options;
    if (this.#counts.isSaturatedFor(request.tool) || this.#loop.sliceMs() > 0) this.#startCounts.dropped += 1;
    const moment = now();
    if (this.#loop.dropIsLate(moment)) this.#counts.callerOf(request.caller).drops.drop(moment);
    const retryAfterMs = this.retryAfterMs(this.#counts.toolQueueOf(request.tool));
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
    const { request, callerQueue } = call;
    const isTooLate =
      moment >= request.endsAt || moment + this.#needsMs(request, callerQueue.toolQueue) > request.endsAt;
    if (isTooLate) call.cancelDrop = this.#drop(request, 'deadline');
    else {
      this.#take(request.tool, callerQueue.toolQueue, callerQueue.caller);
      request.acquired();
    }
  }

  /** Drops a call that is worth less than a newcomer of this tool and caller; false where the newcomer is. */
  #makeRoom(toolQueue: ToolQueue, caller: Caller): boolean {
    if (this.#waiting.size < this.#options.maxQueuedCalls) return true;
    const leastWorthy = this.#waiting.leastWorthy(toolQueue, caller);
    if (leastWorthy === null) return false;
    this.#waiting.leave(leastWorthy);
    leastWorthy.cancelDrop = this.#drop(leastWorthy.request, 'queue_full');
    return true;
  }

  /** A newcomer would not get its slot early enough, or its tool gives none back at all. Rather too hopeful than too strict. */
  #cannotBeInTime(request: SlotRequest, toolQueue: ToolQueue, caller: Caller, moment: number): boolean {
    if (isStuck(toolQueue, moment)) return true;
    return moment + this.#waitMs(toolQueue, caller) * WAIT_MARGIN + this.#needsMs(request, toolQueue) > request.endsAt;
  }

  // A batch may have waited unread for a whole slice, and its client has counted that.
  #needsMs({ timeoutMs }: SlotRequest, { pace }: ToolQueue): number {
    const usualMs = pace.usualMs();
    return Math.min(Math.max(usualMs * RUN_MARGIN, usualMs + this.#loop.sliceMs()), timeoutMs);
  }

  /** Before a caller's next call each other caller starts as many calls as it. */
  #waitMs(toolQueue: ToolQueue, caller: Caller): number {
    const { maxConcurrentCalls, callerConcurrency } = this.#options;
    const meanMs = this.#pace.meanMs();
    const aheadOfAll = Math.min(this.#waiting.size, caller.waiting * this.#waiting.callers);
    const aheadInQueue = Math.min(
      toolQueue.waiting,
      (caller.callerQueues.get(toolQueue)?.calls.size ?? 0) * toolQueue.callerQueues.size,
    );
    return Math.max(
      (aheadInQueue * toolQueue.pace.meanMs()) / this.#widthAhead(toolQueue),
      aheadInQueue * toolQueue.work.wholeMs(),
      this.#counts.isAtLimit(caller) ? (caller.waiting * meanMs) / callerConcurrency : 0,
      this.#counts.areAllInUse('service') ? (aheadOfAll * meanMs) / maxConcurrentCalls : 0,
    );
  }

  /** How many calls run at once of whatever holds this tool's calls up; the fewest count. */
  #widthAhead({ running, limit, upstream, tool }: ToolQueue): number {
    const isHeldByHosts = tool.runsIn === 'host' && this.#counts.areAllInUse('hosts');
    return Math.min(
      running < limit ? Number.POSITIVE_INFINITY : limit,
      upstream !== null && isFull(upstream) ? upstream.limit : Number.POSITIVE_INFINITY,
      isHeldByHosts ? this.#options.maxHostedCalls : Number.POSITIVE_INFINITY,
    );
  }
}

const isStuck = (toolQueue: ToolQueue, moment: number): boolean => {
  const stuckMs = Math.max(2 * toolQueue.tool.timeoutMs, LEAST_STUCK_MS);
  const { upstream } = toolQueue;
  if (!hasRoom(toolQueue) && moment - toolQueue.busySince > stuckMs) return true;
  return upstream !== null && isFull(upstream) && moment - upstream.busySince > stuckMs;
};
