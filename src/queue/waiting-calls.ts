import type { SlotRequest } from '../executor/call-slots.ts';
import type { Tool } from '../tools/tool.ts';
import { DropShare } from './drop-share.ts';
import { append, createLinkedList, type Link, type LinkedList, moveToEnd, remove } from './linked-list.ts';
import { createPace, type Pace } from './pace.ts';
import { ToolWork } from './tool-work.ts';

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
export type TurnRules = {
  readonly isOpen: (lane: Lane) => boolean;
  readonly isAtLimit: (caller: Caller) => boolean;
};

/** All calls that wait, whoever sent them and whatever for. */
export type WaitingCalls = {
  readonly size: () => number;
  readonly callers: () => number;
  readonly add: (request: SlotRequest, lane: Lane, caller: Caller) => WaitingCall;
  /** Takes the call out of its line; nothing where it has left already. */
  readonly leave: (call: WaitingCall) => void;
  /** Takes out the call whose turn it is among the tools and callers that may have one; null where there is none. */
  readonly next: (turns: TurnRules) => WaitingCall | null;
  /** The call that is worth less than a newcomer of this tool and caller; null where the newcomer is. */
  readonly leastWorthy: (lane: Lane, caller: Caller) => WaitingCall | null;
};

// Of so many callers the one with the fewest running calls is next; where there are more, the window moves along.
const WINDOW = 8;

export const createLane = (tool: Tool, limit: number, upstream: UpstreamUse | null): Lane => ({
  tool,
  limit,
  upstream,
  running: 0,
  waiting: 0,
  busySince: 0,
  pace: createPace(),
  work: new ToolWork(),
  lines: createLinkedList(),
  place: null,
});

const NOTHING_TO_TAKE_BACK = (): void => undefined;

export const createCaller = (): Caller => ({
  running: 0,
  waiting: 0,
  drops: new DropShare(),
  lines: new Map(),
  place: null,
});

export const createWaitingCalls = (): WaitingCalls => {
  const lanes = createLinkedList<Lane>();
  const callers = createLinkedList<Caller>();
  let size = 0;
  let order = 0;

  const openLine = (lane: Lane, caller: Caller): Line => {
    const line: Line = { lane, caller, calls: createLinkedList(), place: null };
    line.place = append(lane.lines, line);
    caller.lines.set(lane, line);
    lane.place ??= append(lanes, lane);
    caller.place ??= append(callers, caller);
    return line;
  };
  const closeLine = ({ lane, caller, place }: Line): void => {
    if (place !== null) remove(lane.lines, place);
    caller.lines.delete(lane);
    if (lane.place !== null && lane.lines.size === 0) {
      remove(lanes, lane.place);
      lane.place = null;
    }
    if (caller.place !== null && caller.lines.size === 0) {
      remove(callers, caller.place);
      caller.place = null;
    }
  };
  const leave = (call: WaitingCall): void => {
    if (call.place === null) return;
    const { line } = call;
    remove(line.calls, call.place);
    call.place = null;
    count(line, -1);
    if (line.calls.size === 0) closeLine(line);
  };
  const count = ({ lane, caller }: Line, change: 1 | -1): void => {
    size += change;
    lane.waiting += change;
    caller.waiting += change;
  };

  return {
    size: () => size,
    callers: () => callers.size,
    add: (request, lane, caller) => {
      const line = caller.lines.get(lane) ?? openLine(lane, caller);
      order += 1;
      const call: WaitingCall = { request, line, order, place: null, takeBack: NOTHING_TO_TAKE_BACK };
      call.place = append(line.calls, call);
      count(line, 1);
      return call;
    },
    leave,
    next: (turns) => {
      const line = findNextLine(lanes, turns);
      const call = line?.calls.first?.item ?? null;
      // Whoever comes after stands behind the other callers of the tool.
      if (line?.place) moveToEnd(line.lane.lines, line.place);
      if (call !== null) leave(call);
      return call;
    },
    leastWorthy: (lane, caller) => {
      const largest = findLargest(callers, caller);
      const longest = findLongest(largest);
      if (longest === null) return null;
      const own = caller.lines.get(lane)?.calls.size ?? 0;
      const isWorthMore = largest !== caller || longest.calls.size > own + 1;
      return isWorthMore ? (longest.calls.last?.item ?? null) : null;
    },
  };
};

/** Fewest running calls of the caller first; of equals the one whose first call has waited longest. */
const findNextLine = (lanes: LinkedList<Lane>, { isOpen, isAtLimit }: TurnRules): Line | null => {
  let best: Line | null = null;
  for (let link = lanes.first; link !== null; link = link.next) {
    if (!isOpen(link.item)) continue;
    const line = findFewestRunning(link.item.lines, isAtLimit);
    if (line !== null && (best === null || comesBefore(line, best))) best = line;
  }
  return best;
};

const findFewestRunning = (lines: LinkedList<Line>, isAtLimit: TurnRules['isAtLimit']): Line | null => {
  let best: Line | null = null;
  let seen = 0;
  for (let link = lines.first; link !== null && seen < WINDOW; link = link.next) {
    if (isAtLimit(link.item.caller)) continue;
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
