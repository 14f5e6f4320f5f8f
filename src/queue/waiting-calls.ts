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
export type Lane = {
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
  readonly lines: LinkedList<Line>;
  place: Link<Lane> | null;
};

/** Whoever sends calls: what runs for it, and what waits. */
export type Caller = {
  running: number;
  waiting: number;
  readonly drops: DropShare;
  readonly lines: Map<Lane, Line>;
  place: Link<Caller> | null;
};

/** The calls of one caller that wait for one tool: first come, first served. */
type Line = {
  readonly lane: Lane;
  readonly caller: Caller;
  readonly calls: LinkedList<WaitingCall>;
  place: Link<Line> | null;
};

/** A call in its line; `place` is null once it has left. */
export type WaitingCall = {
  readonly request: SlotRequest;
  readonly line: Line;
  /** Rises with every call that ever waited. */
  readonly order: number;
  place: Link<WaitingCall> | null;
  /** Keeps a drop from being told that was not told yet. */
  takeBack: () => void;
};

/** Whose call may run now. */
type TurnRules = { isOpen(lane: Lane): boolean; isAtLimit(caller: Caller): boolean };

export const createLane = (tool: Tool, limit: number, upstream: UpstreamUse | null): Lane => ({
  tool,
  limit,
  upstream,
  running: 0,
  waiting: 0,
  busySince: 0,
  pace: new Pace(),
  work: new ToolWork(),
  lines: createLinkedList(),
  place: null,
});

export const createCaller = (): Caller => ({
  running: 0,
  waiting: 0,
  drops: new DropShare(),
  lines: new Map(),
  place: null,
});

const NOTHING_TO_TAKE_BACK = (): void => undefined;

/** All calls that wait, whoever sent them and whatever for. */
export class WaitingCalls {
  readonly #lanes = createLinkedList<Lane>();
  readonly #callers = createLinkedList<Caller>();
  #size = 0;
  #order = 0;

  get size(): number {
    return this.#size;
  }

  get callers(): number {
    return this.#callers.size;
  }

  add(request: SlotRequest, lane: Lane, caller: Caller): WaitingCall {
    const line = caller.lines.get(lane) ?? this.#openLine(lane, caller);
    this.#order += 1;
    const call: WaitingCall = { request, line, order: this.#order, place: null, takeBack: NOTHING_TO_TAKE_BACK };
    call.place = append(line.calls, call);
    this.#count(line, 1);
    return call;
  }

  /** Takes the call out of its line; nothing where it has left already. */
  leave(call: WaitingCall): void {
    if (call.place === null) return;
    const { line } = call;
    remove(line.calls, call.place);
    call.place = null;
    this.#count(line, -1);
    if (line.calls.size === 0) this.#closeLine(line);
  }

  /** Takes out the call whose turn it is among the tools and callers that may have one; null where there is none. */
  next(rules: TurnRules): WaitingCall | null {
    const line = findNextLine(this.#lanes, rules);
    const call = line?.calls.first?.item ?? null;
    // Whoever comes after stands behind the other callers of the tool.
    if (line?.place) moveToEnd(line.lane.lines, line.place);
    if (call !== null) this.leave(call);
    return call;
  }

  /** The call that is worth less than a newcomer of this tool and caller; null where the newcomer is. */
  leastWorthy(lane: Lane, caller: Caller): WaitingCall | null {
    const largest = findLargest(this.#callers, caller);
    const longest = findLongest(largest);
    if (longest === null) return null;
    const own = caller.lines.get(lane)?.calls.size ?? 0;
    const isWorthMore = largest !== caller || longest.calls.size > own + 1;
    return isWorthMore ? (longest.calls.last?.item ?? null) : null;
  }

  #openLine(lane: Lane, caller: Caller): Line {
    const line: Line = { lane, caller, calls: createLinkedList(), place: null };
    line.place = append(lane.lines, line);
    caller.lines.set(lane, line);
    lane.place ??= append(this.#lanes, lane);
    caller.place ??= append(this.#callers, caller);
    return line;
  }

  #closeLine({ lane, caller, place }: Line): void {
    if (place !== null) remove(lane.lines, place);
    caller.lines.delete(lane);
    if (lane.place !== null && lane.lines.size === 0) {
      remove(this.#lanes, lane.place);
      lane.place = null;
    }
    if (caller.place !== null && caller.lines.size === 0) {
      remove(this.#callers, caller.place);
      caller.place = null;
    }
  }

  #count({ lane, caller }: Line, change: 1 | -1): void {
    this.#size += change;
    lane.waiting += change;
    caller.waiting += change;
  }
}

/** Fewest running calls of the caller first; of equals the one whose first call has waited longest. */
const findNextLine = (lanes: LinkedList<Lane>, rules: TurnRules): Line | null => {
  let best: Line | null = null;
  for (let link = lanes.first; link !== null; link = link.next) {
    if (!rules.isOpen(link.item)) continue;
    const line = findFewestRunning(link.item.lines, rules);
    if (line !== null && (best === null || comesBefore(line, best))) best = line;
  }
  return best;
};

// Of so many callers the one with the fewest running calls is next; where there are more, the window moves along.
const WINDOW = 8;

const findFewestRunning = (lines: LinkedList<Line>, rules: TurnRules): Line | null => {
  let best: Line | null = null;
  let seen = 0;
  for (let link = lines.first; link !== null && seen < WINDOW; link = link.next) {
    if (rules.isAtLimit(link.item.caller)) continue;
    if (best === null || link.item.caller.running < best.caller.running) best = link.item;
    seen += 1;
  }
  return best;
};

const comesBefore = (one: Line, other: Line): boolean => {
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

const findLongest = ({ lines }: Caller): Line | null => {
  let longest: Line | null = null;
  for (const line of lines.values()) if (longest === null || line.calls.size > longest.calls.size) longest = line;
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
