import type { Job, JobEnd, JobQueue, LaneState, ServedLane, Taking } from '../pending/job-queue.ts';
import { createFairTurns, type FairTurns } from './fair-turns.ts';
import { RunningJobs, sharedSlots } from './running-jobs.ts';

/** A job is waiting (in a line of its lane), delayed (`timer` runs), or running (neither). */
type Entry = {
  readonly job: Job;
  tag: number;
  /** By `performance.now()`. */
  waitingSince: number;
  state: 'waiting' | 'delayed' | 'running';
  timer: NodeJS.Timeout | undefined;
};

/** The waiting jobs of one lane: those of equal tags in the order in which they came, and no gap is long. */
class LaneLine {
  readonly turns: FairTurns = createFairTurns();
  readonly #byTag = new Map<number, Set<Entry>>();
  /** Per tenant, those that were offered first first. */
  readonly #byTenant = new Map<string, Set<Entry>>();
  #lowest = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(entry: Entry): void {
    const equals = this.#byTag.get(entry.tag);
    if (equals === undefined) this.#byTag.set(entry.tag, new Set([entry]));
    else equals.add(entry);
    const { tenant } = entry.job;
    const own = this.#byTenant.get(tenant);
    if (own === undefined) this.#byTenant.set(tenant, new Set([entry]));
    else own.add(entry);
    this.#lowest = this.#size === 0 ? entry.tag : Math.min(this.#lowest, entry.tag);
    this.#size += 1;
  }

  delete(entry: Entry): void {
    const equals = this.#byTag.get(entry.tag);
    if (equals?.delete(entry) !== true) return;
    if (equals.size === 0) this.#byTag.delete(entry.tag);
    const { tenant } = entry.job;
    const own = this.#byTenant.get(tenant);
    own?.delete(entry);
    if (own?.size === 0) this.#byTenant.delete(tenant);
    this.#size -= 1;
  }

  /** The one that runs next. */
  shift(): Entry | undefined {
    if (this.#size === 0) return undefined;
    while (!this.#byTag.has(this.#lowest)) this.#lowest += 1;
    const [first] = this.#byTag.get(this.#lowest) ?? [];
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** The one that runs next of those whose tenant has nothing running. */
  shiftOfOthers(running: ReadonlyMap<string, number>): Entry | undefined {
    let next: Entry | undefined;
    for (const [tenant, [first]] of this.#byTenant) {
      if (first === undefined || running.has(tenant)) continue;
      if (next === undefined || first.tag < next.tag) next = first;
    }
    if (next !== undefined) this.delete(next);
    return next;
  }

  oldestSince(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const equals of this.#byTag.values())
      for (const { waitingSince } of equals) oldest = Math.min(oldest, waitingSince);
    return oldest;
  }
}

type Worker = {
  readonly lanes: readonly ServedLane[];
  readonly run: (job: Job) => Promise<JobEnd>;
  /** Per lane. */
  readonly running: Map<string, RunningJobs>;
  stopped: boolean;
  idle: PromiseWithResolvers<void> | undefined;
};

const runningOf = ({ running }: Worker): number => [...running.values()].reduce((sum, { count }) => sum + count, 0);

const runningIn = ({ running }: Worker, lane: string): RunningJobs => {
  const known = running.get(lane);
  if (known !== undefined) return known;
  const fresh = new RunningJobs();
  running.set(lane, fresh);
  return fresh;
};

const whenIdle = (worker: Worker): Promise<void> => {
  if (runningOf(worker) === 0) return Promise.resolve();
  worker.idle ??= Promise.withResolvers();
  return worker.idle.promise;
};

// Below all tags: a job that comes again has had its turn, and runs before those that have not.
const AGAIN_TAG = 0;

/**
 * Jobs of this process alone, without a store; they end with it. `lanes` are those whose state it tells from the start.
 */
class MemoryJobQueue implements JobQueue {
  readonly durability = 'process';
  readonly #entries = new Map<string, Entry>();
  readonly #lines = new Map<string, LaneLine>();
  readonly #workers: Worker[] = [];
  #pumping = false;

  constructor(lanes: readonly string[]) {
    for (const lane of lanes) this.#lineOf(lane);
  }

  offer(job: Job): Promise<void> {
    if (this.#entries.has(job.call)) return Promise.resolve();
    const tag = this.#lineOf(job.lane).turns.offer(job.tenant, job.call);
    const entry: Entry = { job, tag, waitingSince: performance.now(), state: 'waiting', timer: undefined };
    this.#entries.set(job.call, entry);
    this.#wait(entry);
    return Promise.resolve();
  }

  take(lanes: readonly ServedLane[], run: (job: Job) => Promise<JobEnd>): Taking {
    const worker: Worker = { lanes, run, running: new Map(), stopped: false, idle: undefined };
    this.#workers.push(worker);
    this.#pumpSoon();
    return {
      stop: () => this.#stop(worker),
      whenIdle: () => whenIdle(worker),
      running: () => runningOf(worker),
      // What is offered starts what it can; there is no fetch that could hang.
      lastFetchAt: () => performance.now(),
    };
  }

  cancel({ call }: Job): Promise<void> {
    const entry = this.#entries.get(call);
    if (entry === undefined || entry.state === 'running') return Promise.resolve();
    clearTimeout(entry.timer);
    this.#entries.delete(call);
    const line = this.#lineOf(entry.job.lane);
    line.delete(entry);
    const moved = line.turns.remove(entry.job.tenant, call, entry.tag);
    const youngest = moved === null ? undefined : this.#entries.get(moved.call);
    if (moved === null || youngest === undefined) return Promise.resolve();
    line.delete(youngest);
    youngest.tag = moved.tag;
    line.add(youngest);
    return Promise.resolve();
  }

  lanes(): Promise<readonly LaneState[]> {
    const now = performance.now();
    const states = [...this.#lines].map(([lane, line]) => ({
      lane,
      waiting: line.size,
      oldestWaitingMs: line.size === 0 ? 0 : Math.max(0, now - line.oldestSince()),
    }));
    return Promise.resolve(states);
  }

  async close(): Promise<void> {
    const ended = this.#workers.map(whenIdle);
    for (const worker of [...this.#workers]) this.#stop(worker);
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    await Promise.all(ended);
    this.#entries.clear();
    this.#lines.clear();
  }

  #stop(worker: Worker): void {
    worker.stopped = true;
    const at = this.#workers.indexOf(worker);
    if (at >= 0) this.#workers.splice(at, 1);
  }

  #lineOf(lane: string): LaneLine {
    const known = this.#lines.get(lane);
    if (known !== undefined) return known;
    const line = new LaneLine();
    this.#lines.set(lane, line);
    return line;
  }

  #wait(entry: Entry): void {
    entry.state = 'waiting';
    entry.timer = undefined;
    this.#lineOf(entry.job.lane).add(entry);
    this.#pumpSoon();
  }

  // Not within `offer`: what is offered is answered before it runs.
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      for (const worker of this.#workers) for (const lane of worker.lanes) this.#startWaiting(worker, lane);
    });
  }

  #startWaiting(worker: Worker, { lane, concurrency }: ServedLane): void {
    const line = this.#lineOf(lane);
    const running = runningIn(worker, lane);
    while (!worker.stopped && running.count < concurrency) {
      const entry = running.count < sharedSlots(concurrency) ? line.shift() : line.shiftOfOthers(running.tenants);
      if (entry === undefined) return;
      entry.state = 'running';
      line.turns.take(entry.job.tenant, entry.job.call, entry.tag);
      running.add(entry.job.tenant);
      void worker.run(entry.job).then((end) => this.#end(worker, entry, end));
    }
  }

  #end(worker: Worker, entry: Entry, end: JobEnd): void {
    const { lane, call, tenant } = entry.job;
    runningIn(worker, lane).delete(tenant);
    if (end.kind === 'done') this.#entries.delete(call);
    else this.#waitLater(entry, end.afterMs);
    if (runningOf(worker) === 0) {
      worker.idle?.resolve();
      worker.idle = undefined;
    }
    this.#pumpSoon();
  }

  #waitLater(entry: Entry, afterMs: number): void {
    entry.state = 'delayed';
    entry.tag = AGAIN_TAG;
    entry.waitingSince = performance.now() + afterMs;
    entry.timer = setTimeout(() => this.#wait(entry), afterMs);
    // A job that waits keeps no process alive.
    entry.timer.unref();
  }
}

/** Jobs of this process, which end with it; needs no store. `lanes`: those whose state is told before their first job. */
export const createMemoryJobQueue = (lanes: readonly string[] = []): JobQueue => new MemoryJobQueue(lanes);
