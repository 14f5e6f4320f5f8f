import type { Tool } from '../tools/tool.ts';
import { type ConcurrencySettings, createConcurrencyLimit } from './concurrency-limit.ts';
import { type Caller, createCaller, createLane, type Lane, type UpstreamUse } from './waiting-calls.ts';

/** What is taken of the slots of the service, of its hosts, of every upstream and of every tool, and by whom. */
export type SlotCounts = {
  readonly laneOf: (tool: Tool) => Lane;
  /** The same, with the limits of this version of the tool from now on. */
  readonly renewedLaneOf: (tool: Tool) => Lane;
  readonly callerOf: (key: string) => Caller;
  /** Whether a call of the tool could run now, of some caller. */
  readonly isOpen: (lane: Lane) => boolean;
  /** Whether this caller has as many calls running as it may. */
  readonly isAtLimit: (caller: Caller) => boolean;
  readonly take: (tool: Tool, lane: Lane, caller: Caller) => void;
  readonly giveBackOfService: (caller: Caller) => void;
  readonly giveBackOfTool: (tool: Tool, lane: Lane) => void;
  readonly areAllTaken: (of: 'service' | 'hosts') => boolean;
  /** Whether a call of the tool waits for what it shares with all others. */
  readonly isSaturatedFor: (tool: Tool) => boolean;
  readonly running: () => number;
};

// Tools and callers that do nothing are forgotten once there are so many, or as many again as are busy: a server may
// rename its tools for ever. Of a tool its pace is lost, which is learned again.
const LEAST_REMEMBERED = 1024;

export const createSlotCounts = (settings: ConcurrencySettings & { readonly now: () => number }): SlotCounts => {
  const { maxConcurrentCalls, callerConcurrency, maxHostedCalls, now } = settings;
  const limitOf = createConcurrencyLimit(settings);
  const lanes = createBusyMap<Lane>();
  const useOf = createUpstreamLookup();
  let running = 0;
  let hosted = 0;
  const laneOf = (tool: Tool): Lane => {
    const known = lanes.get(tool.name);
    if (known !== undefined) return known;
    return lanes.add(tool.name, createLane(tool, limitOf(tool), useOf(tool)));
  };
  return {
    laneOf,
    renewedLaneOf: (tool) => {
      const lane = laneOf(tool);
      if (lane.tool === tool) return lane;
      const hadRoom = hasRoom(lane);
      lane.tool = tool;
      lane.limit = limitOf(tool);
      lane.upstream = useOf(tool);
      // A limit that narrows beneath the calls that run is no sign that they hang.
      if (hadRoom && !hasRoom(lane)) lane.busySince = now();
      return lane;
    },
    callerOf: createCallerLookup(),
    isOpen: (lane) =>
      running < maxConcurrentCalls &&
      hasRoom(lane) &&
      !isFull(lane.upstream) &&
      (lane.tool.runsIn === 'service' || hosted < maxHostedCalls),
    isAtLimit: (caller) => caller.running >= callerConcurrency,
    take: (tool, lane, caller) => {
      running += 1;
      caller.running += 1;
      lane.running += 1;
      if (tool.runsIn === 'host') hosted += 1;
      if (!hasRoom(lane)) lane.busySince = now();
      takeOf(useOf(tool), now);
    },
    giveBackOfService: (caller) => {
      running -= 1;
      caller.running -= 1;
    },
    giveBackOfTool: (tool, lane) => {
      if (!hasRoom(lane)) lane.busySince = now();
      lane.running -= 1;
      if (tool.runsIn === 'host') hosted -= 1;
      giveBackOf(useOf(tool), now);
    },
    areAllTaken: (of) => (of === 'service' ? running >= maxConcurrentCalls : hosted >= maxHostedCalls),
    isSaturatedFor: (tool) => running >= maxConcurrentCalls || (tool.runsIn === 'host' && hosted >= maxHostedCalls),
    running: () => running,
  };
};

/** How many calls of the tool may run at once now: its limit, or fewer where those keep the event loop busy. */
export const widthOf = (lane: Lane): number => Math.min(lane.limit, lane.work.width);

export const hasRoom = ({ running, limit, work }: Lane): boolean => running < limit && running < work.width;

/** By the upstream's name, and with its latest limit. It outlives versions of its tools, as what runs there does. */
const createUpstreamLookup = (): ((tool: Tool) => UpstreamUse | null) => {
  const uses = new Map<string, UpstreamUse>();
  return ({ upstream }) => {
    if (upstream === null) return null;
    const known = uses.get(upstream.name);
    const use = known ?? { limit: upstream.concurrency, running: 0, busySince: 0 };
    use.limit = upstream.concurrency;
    if (known === undefined) uses.set(upstream.name, use);
    return use;
  };
};

export const isFull = (use: UpstreamUse | null): boolean => use !== null && use.running >= use.limit;

const takeOf = (use: UpstreamUse | null, now: () => number): void => {
  if (use === null) return;
  use.running += 1;
  if (isFull(use)) use.busySince = now();
};

const giveBackOf = (use: UpstreamUse | null, now: () => number): void => {
  if (use === null) return;
  if (isFull(use)) use.busySince = now();
  use.running -= 1;
};

const createCallerLookup = (): ((key: string) => Caller) => {
  const callers = createBusyMap<Caller>();
  return (key) => callers.get(key) ?? callers.add(key, createCaller());
};

type Counted = { readonly running: number; readonly waiting: number };

/** What is busy stays; what is not may have to make room for something new. */
const createBusyMap = <Item extends Counted>() => {
  const items = new Map<string, Item>();
  let pruneAt = LEAST_REMEMBERED;
  // A call asks five times for the same ones.
  let last: { readonly key: string; readonly item: Item } | null = null;
  return {
    get: (key: string): Item | undefined => {
      if (last !== null && last.key === key) return last.item;
      const item = items.get(key);
      if (item !== undefined) last = { key, item };
      return item;
    },
    add: (key: string, item: Item): Item => {
      if (items.size >= pruneAt) {
        last = null;
        forgetIdle(items);
        pruneAt = Math.max(LEAST_REMEMBERED, 2 * items.size);
      }
      items.set(key, item);
      return item;
    },
  };
};

const forgetIdle = (items: Map<string, Counted>): void => {
  for (const [key, { running, waiting }] of items) if (running + waiting === 0) items.delete(key);
};
