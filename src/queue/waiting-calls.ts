import type { SlotRequest } from '../executor/call-slots.ts';
import { append, createLinkedList, type Link, type LinkedList, moveToEnd, remove } from '../memory/linked-list.ts';
import type { Tool } from '../tools/tool.ts';
import { Pace, ToolWork } from './tool-work.ts';

/** What runs at one upstream, whichever of its tools it is of. */
export type UpstreamUse = {
  limit: number;
  running: number;
  /** Since when its slots have all been taken, or when one last came free. */
  busySince: number;
};

/** One tool as the slots see it: what runs, and who waits. */
export type ToolQueue = {
  /** In its latest version. */
  tool: Tool;
  limit: number;
  /** What its calls go to, where other tools' calls go there too. */
  upstream: UpstreamUse | null;
  running: number;
  waiting: number;
  /** Since when all slots have been taken, or when one last came free. */
  busySince: number;
  readonly pace: Pace;
  readonly work: ToolWork;
  readonly callerQueues: LinkedList<CallerQueue>;
  place: Link<ToolQueue> | null;
};

/** A tenant or an address that sends calls: what runs for it, and what waits. */
export type Caller = {
  running: number;
  waiting: number;
  readonly drops: DropShare;
  readonly callerQueues: Map<ToolQueue, CallerQueue>;
  place: Link<Caller> | null;
};

/** The calls of one caller that wait for one tool: first come, first served. */
type CallerQueue = {
  readonly toolQueue: ToolQueue;
  readonly caller: Caller;
  readonly calls: LinkedList<WaitingCall>;
  place: Link<CallerQueue> | null;
};

/** A call in its queue; `place` is null once it has left. */
export type WaitingCall = {
  readonly request: SlotRequest;
  readonly callerQueue: CallerQueue;
  /** Rises with every call that ever waited. */
  readonly order: number;
  place: Link<WaitingCall> | null;
  /** Keeps a drop from being told that was not told yet. */
  cancelDrop: () => void;
};

/** Which calls may run now. */
type OrderRules = { isOpen(toolQueue: ToolQueue): boolean; isAtLimit(caller: Caller): boolean };

export const createToolQueue = (tool: Tool, limit: number, upstream: UpstreamUse | null): ToolQueue => ({
  tool,
  limit,
  upstream,
  running: 0,
  waiting: 0,
  busySince: 0,
  pace: new Pace(),
  work: new ToolWork(),
  callerQueues: createLinkedList(),
  place: null,
});

export const createCaller = (): Caller => ({
  running: 0,
  waiting: 0,
  drops: new DropShare(),
  callerQueues: new Map(),
  place: null,
});

const NOTHING_TO_CANCEL = (): void => undefined;

/** All calls that wait, of all callers and tools. */
export class WaitingCalls {
  readonly #toolQueues = createLinkedList<ToolQueue>();
  readonly #callers = createLinkedList<Caller>();
  #size = 0;
  #order = 0;

  get size(): number {
    return this.#size;
  }

  get callers(): number {
    return this.#callers.size;
  }

  add(request: SlotRequest, toolQueue: ToolQueue, caller: Caller): WaitingCall {
    const callerQueue = caller.callerQueues.get(toolQueue) ?? this.#openQueue(toolQueue, caller);
    this.#order += 1;
    const call: WaitingCall = { request, callerQueue, order: this.#order, place: null, cancelDrop: NOTHING_TO_CANCEL };
    call.place = append(callerQueue.calls, call);
    this.#count(callerQueue, 1);
    return call;
  }

  /** Takes the call out of its queue; nothing where it has left already. */
  leave(call: WaitingCall): void {
    if (call.place === null) return;
    const { callerQueue } = call;
    remove(callerQueue.calls, call.place);
    call.place = null;
    this.#count(callerQueue, -1);
    if (callerQueue.calls.size === 0) this.#closeQueue(callerQueue);
  }

  /** Takes out the call that may run next among the tools and callers that have room; null without one. */
  next(rules: OrderRules): WaitingCall | null {
    const callerQueue = findNextQueue(this.#toolQueues, rules);
    const call = callerQueue?.calls.first?.item ?? null;
    // The caller's next call stands behind the other callers of the tool.
    if (callerQueue?.place) moveToEnd(callerQueue.toolQueue.callerQueues, callerQueue.place);
    if (call !== null) this.leave(call);
    return call;
  }

  /** The call that is worth less than a newcomer of this tool and caller; null where the newcomer is. */
  leastWorthy(toolQueue: ToolQueue, caller: Caller): WaitingCall | null {
    const largest = findLargest(this.#callers, caller);
    const longest = findLongest(largest);
    if (longest === null) return null;
    const own = caller.callerQueues.get(toolQueue)?.calls.size ?? 0;
    const isWorthMore = largest !== caller || longest.calls.size > own + 1;
    return isWorthMore ? (longest.calls.last?.item ?? null) : null;
  }

  #openQueue(toolQueue: ToolQueue, caller: Caller): CallerQueue {
    const callerQueue: CallerQueue = { toolQueue, caller, calls: createLinkedList(), place: null };
    callerQueue.place = append(toolQueue.callerQueues, callerQueue);
    caller.callerQueues.set(toolQueue, callerQueue);
    toolQueue.place ??= append(this.#toolQueues, toolQueue);
    caller.place ??= append(this.#callers, caller);
    return callerQueue;
  }

  #closeQueue({ toolQueue, caller, place }: CallerQueue): void {
    if (place !== null) remove(toolQueue.callerQueues, place);
    caller.callerQueues.delete(toolQueue);
    if (toolQueue.place !== null && toolQueue.callerQueues.size === 0) {
      remove(this.#toolQueues, toolQueue.place);
      toolQueue.place = null;
    }
    if (caller.place !== null && caller.callerQueues.size === 0) {
      remove(this.#callers, caller.place);
      caller.place = null;
    }
  }

  #count({ toolQueue, caller }: CallerQueue, change: 1 | -1): void {
    this.#size += change;
    toolQueue.waiting += change;
    caller.waiting += change;
  }
}

/** Fewest running calls of the caller first; of equals the one whose first call has waited longest. */
const findNextQueue = (toolQueues: LinkedList<ToolQueue>, rules: OrderRules): CallerQueue | null => {
  let best: CallerQueue | null = null;
  for (let link = toolQueues.first; link !== null; link = link.next) {
    if (!rules.isOpen(link.item)) continue;
    const callerQueue = findFewestRunning(link.item.callerQueues, rules);
    if (callerQueue !== null && (best === null || comesBefore(callerQueue, best))) best = callerQueue;
  }
  return best;
};

// Of so many callers the one with the fewest running calls is next; where there are more, the window moves along.
const WINDOW = 8;

const findFewestRunning = (callerQueues: LinkedList<CallerQueue>, rules: OrderRules): CallerQueue | null => {
  let best: CallerQueue | null = null;
  let seen = 0;
  for (let link = callerQueues.first; link !== null && seen < WINDOW; link = link.next) {
    if (rules.isAtLimit(link.item.caller)) continue;
    if (best === null || link.item.caller.running < best.caller.running) best = link.item;
    seen += 1;
  }
  return best;
};

const comesBefore = (one: CallerQueue, other: CallerQueue): boolean => {
  if (one.caller.running !== other.caller.running) return one.caller.running < other.caller.running;
  return (one.calls.first?.item.order ?? 0) < (other.calls.first?.item.order ?? 0);
};

/** The caller with the most waiting calls, if those are more than the newcomer's own with the new one. */
const findLargest = (callers: LinkedList<Caller>, newcomer: Caller): Caller => {
  let largest = newcomer;
  let most = newcomer.waiting + 1;
  for (let link = callers.first; link !== null; link = link.next) {
    if (link.item.waiting <= most) continue;
    largest = link.item;
    most = link.item.waiting;
  }
  return largest;
};

const findLongest = ({ callerQueues }: Caller): CallerQueue | null => {
  let longest: CallerQueue | null = null;
  for (const callerQueue of callerQueues.values())
    if (longest === null || callerQueue.calls.size > longest.calls.size) longest = callerQueue;
  return longest;
};

// A hundred and fifty dropped calls in a row, which take 30 ms to read and refuse.
const WEIGHT = 1 / 64;
const MOST_SHARE = 0.9;
const LEAST_SHARE = 0.001;
const READ_ONE_OF = 16;
// What was dropped before says nothing of now.
const REMEMBERED_MS = 250;

/** How many of a caller's latest calls were dropped while the event loop was late, and so whether its next batch is worth reading. */
class DropShare {
  #share = 0;
  #droppedAt = Number.NEGATIVE_INFINITY;
  #batches = 0;

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
    this.#batches = (this.#batches + 1) % READ_ONE_OF;
    return this.#batches !== 0;
  }
}
