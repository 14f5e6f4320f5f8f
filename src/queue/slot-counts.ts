import type { Tool } from '../tools/tool.ts';
import { type Caller, createCaller, createToolQueue, type ToolQueue, type UpstreamUse } from './waiting-calls.ts';

export type ConcurrencySettings = {
  /** Calls that run at once, over all tools and callers. */
  readonly maxConcurrentCalls: number;
  /** Calls of one caller that run at once, over all tools. */
  readonly callerConcurrency: number;
  /** Calls of one tool that run at once where the tool says nothing else. */
  readonly toolConcurrency: number;
  /** Calls that tool hosts run at once, over all hosted tools. */
  readonly maxHostedCalls: number;
};

/** How many calls of a tool may run at once. */
export type ConcurrencyLimit = (tool: Pick<Tool, 'concurrency' | 'runsIn' | 'upstream'>) => number;

/** The tool's own word, else the service's. Never more than the service, its hosts, or the upstream that it talks to, run at all. */
export const createConcurrencyLimit = (settings: ConcurrencySettings): ConcurrencyLimit => {
  const { maxConcurrentCalls, toolConcurrency, maxHostedCalls } = settings;
  return ({ concurrency, runsIn, upstream }) => {
    const most = Math.min(maxConcurrentCalls, upstream?.concurrency ?? maxConcurrentCalls);
    return Math.min(concurrency ?? toolConcurrency, most, runsIn === 'host' ? maxHostedCalls : most);
  };
};

/** What is taken of the slots of the service, of its hosts, of every upstream and of every tool, and by whom. */
export class SlotCounts {
  readonly #settings: ConcurrencySettings & { readonly now: () => number };
  readonly #limitOf: ConcurrencyLimit;
  readonly #toolQueues = new BusyMap<ToolQueue>();
  readonly #callers = new BusyMap<Caller>();
  /** By the upstream's name. It outlives versions of its tools, as what runs there does. */
  readonly #upstreams = new Map<string, UpstreamUse>();
  #running = 0;
  #hosted = 0;

  constructor(settings: ConcurrencySettings & { readonly now: () => number }) {
    this.#settings = settings;
    this.#limitOf = createConcurrencyLimit(settings);
  }

  get running(): number {
    return this.#running;
  }

  toolQueueOf(tool: Tool): ToolQueue {
    return (
      this.#toolQueues.get(tool.name) ??
      this.#toolQueues.add(tool.name, createToolQueue(tool, this.#limitOf(tool), this.#upstreamOf(tool)))
    );
  }

  /** The same, with the limits of this version of the tool from now on. */
  renewedToolQueueOf(tool: Tool): ToolQueue {
    const toolQueue = this.toolQueueOf(tool);
    if (toolQueue.tool === tool) return toolQueue;
    const hadRoom = hasRoom(toolQueue);
    toolQueue.tool = tool;
    toolQueue.limit = this.#limitOf(tool);
    toolQueue.upstream = this.#upstreamOf(tool);
    // A limit that narrows beneath the calls that run is no sign that they hang.
    if (hadRoom && !hasRoom(toolQueue)) toolQueue.busySince = this.#settings.now();
    return toolQueue;
  }

  callerOf(key: string): Caller {
    return this.#callers.get(key) ?? this.#callers.add(key, createCaller());
  }

  /** Whether a call of the tool could run now, of some caller. */
  isOpen(toolQueue: ToolQueue): boolean {
    if (this.areAllInUse('service') || !hasRoom(toolQueue) || isFull(toolQueue.upstream)) return false;
    return toolQueue.tool.runsIn === 'service' || !this.areAllInUse('hosts');
  }

  /** Whether this caller has as many calls running as it may. */
  isAtLimit(caller: Caller): boolean {
    return caller.running >= this.#settings.callerConcurrency;
  }

  areAllInUse(of: 'service' | 'hosts'): boolean {
    const { maxConcurrentCalls, maxHostedCalls } = this.#settings;
    return of === 'service' ? this.#running >= maxConcurrentCalls : this.#hosted >= maxHostedCalls;
  }

  /** Whether a call of the tool waits for what it shares with all others. */
  isSaturatedFor({ runsIn }: Tool): boolean {
    return this.areAllInUse('service') || (runsIn === 'host' && this.areAllInUse('hosts'));
  }

  acquire(tool: Tool, toolQueue: ToolQueue, caller: Caller): void {
    this.#running += 1;
    caller.running += 1;
    toolQueue.running += 1;
    if (tool.runsIn === 'host') this.#hosted += 1;
    if (!hasRoom(toolQueue)) toolQueue.busySince = this.#settings.now();
    const upstream = this.#upstreamOf(tool);
    if (upstream === null) return;
    upstream.running += 1;
    if (isFull(upstream)) upstream.busySince = this.#settings.now();
  }

  releaseService(caller: Caller): void {
    this.#running -= 1;
    caller.running -= 1;
  }

  releaseTool(tool: Tool, toolQueue: ToolQueue): void {
    if (!hasRoom(toolQueue)) toolQueue.busySince = this.#settings.now();
    toolQueue.running -= 1;
    if (tool.runsIn === 'host') this.#hosted -= 1;
    const upstream = this.#upstreamOf(tool);
    if (upstream === null) return;
    if (isFull(upstream)) upstream.busySince = this.#settings.now();
    upstream.running -= 1;
  }

  /** With its latest limit. */
  #upstreamOf({ upstream }: Tool): UpstreamUse | null {
    if (upstream === null) return null;
    let use = this.#upstreams.get(upstream.name);
    if (use === undefined) {
      use = { limit: 0, running: 0, busySince: 0 };
      this.#upstreams.set(upstream.name, use);
    }
    use.limit = upstream.concurrency;
    return use;
  }
}

/** How many calls of the tool may run at once now: its limit, or fewer where those keep the event loop busy. */
export const widthOf = (toolQueue: ToolQueue): number => Math.min(toolQueue.limit, toolQueue.work.width);

export const hasRoom = ({ running, limit, work }: ToolQueue): boolean => running < limit && running < work.width;

export const isFull = (use: UpstreamUse | null): boolean => use !== null && use.running >= use.limit;

// Tools and callers that do nothing are forgotten once there are so many, or as many again as are busy: a server may
// rename its tools for ever. Of a tool its pace is lost, which is learned again.
const LEAST_REMEMBERED = 1024;

/** What is busy stays; what is not may have to make room for something new. */
class BusyMap<Item extends { readonly running: number; readonly waiting: number }> {
  readonly #items = new Map<string, Item>();
  #pruneAt = LEAST_REMEMBERED;
  // A call asks five times for the same ones.
  #lastKey: string | null = null;
  #last: Item | undefined;

  get(key: string): Item | undefined {
    if (this.#lastKey === key) return this.#last;
    const item = this.#items.get(key);
    if (item !== undefined) [this.#lastKey, this.#last] = [key, item];
    return item;
  }

  add(key: string, added: Item): Item {
    if (this.#items.size >= this.#pruneAt) {
      this.#lastKey = null;
      for (const [name, { running, waiting }] of this.#items) if (running + waiting === 0) this.#items.delete(name);
      this.#pruneAt = Math.max(LEAST_REMEMBERED, 2 * this.#items.size);
    }
    this.#items.set(key, added);
    return added;
  }
}
