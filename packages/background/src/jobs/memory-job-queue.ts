import { FairLane } from './fair-lane.ts';
import type { Job, JobEnd, JobQueue, LaneState, ServedLane, Taking } from './job-queue.ts';
import { RunningJobs, sharedSlots } from './running-jobs.ts';

/** A job is waiting (in its lane), delayed (`timer` runs), or running (neither). */
type Entry = {
  readonly job: Job;
  /** By `performance.now()`. */
  waitingSince: number;
  state: 'waiting' | 'delayed' | 'running';
  timer: NodeJS.Timeout | undefined;
};

/** A worker in one lane. */
type MemoryWorker = ServedLane & {
  readonly running: RunningJobs;
  readonly run: (job: Job) => Promise<JobEnd>;
  isStopped: boolean;
};

class MemoryJobQueue implements JobQueue {
  readonly #entries = new Map<string, Entry>();
  readonly #lanes = new Map<string, FairLane<Entry>>();
  readonly #workers: MemoryWorker[] = [];
  #isPumping = false;

  constructor(lanes: readonly string[]) {
    for (const lane of lanes) this.#laneOf(lane);
  }

  async offer(job: Job): Promise<void> {
    if (this.#entries.has(job.call)) return;
    const entry: Entry = { job, waitingSince: performance.now(), state: 'waiting', timer: undefined };
    this.#entries.set(job.call, entry);
    this.#laneOf(job.lane).offer(entry);
    this.#pumpSoon();
  }

  // A worker that has a job here lives.
  offerAgain(job: Job): Promise<void> {
    return this.offer(job);
  }

  take(lanes: readonly ServedLane[], run: MemoryWorker['run']): Taking {
    const workers = lanes.map((lane) => ({ ...lane, run, running: new RunningJobs(), isStopped: false }));
    this.#workers.push(...workers);
    this.#pumpSoon();
    return {
      stop: () => {
        for (const worker of workers) worker.isStopped = true;
      },
      // What is offered starts what it can; there is no fetch that could hang.
      lastFetchAt: () => performance.now(),
    };
  }

  async cancel({ call }: Job): Promise<void> {
    const entry = this.#entries.get(call);
    if (entry === undefined || entry.state === 'running') return;
    clearTimeout(entry.timer);
    this.#entries.delete(call);
    this.#laneOf(entry.job.lane).remove(entry);
  }

  async lanes(): Promise<readonly LaneState[]> {
    const now = performance.now();
    return [...this.#lanes].map(([lane, jobs]) => {
      const waits = [...jobs.waiting()].map(({ waitingSince }) => now - waitingSince);
      return { lane, waiting: waits.length, oldestWaitingMs: waits.reduce((most, wait) => Math.max(most, wait), 0) };
    });
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.isStopped = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    await Promise.all(this.#workers.map(({ running }) => running.whenIdle()));
    this.#entries.clear();
    this.#lanes.clear();
  }

  #laneOf(name: string): FairLane<Entry> {
    const lane = this.#lanes.get(name) ?? new FairLane();
    this.#lanes.set(name, lane);
    return lane;
  }

  // Not within `offer`: what is offered is answered before it runs.
  #pumpSoon(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      for (const worker of this.#workers) this.#start(worker);
    });
  }

  #start(worker: MemoryWorker): void {
    const { lane, concurrency, running, run } = worker;
    while (!worker.isStopped && running.count < concurrency) {
      const isShared = running.count < sharedSlots(concurrency);
      const entry = this.#laneOf(lane).take(isShared ? undefined : running.tenants);
      if (entry === undefined) return;
      entry.state = 'running';
      running.add(entry.job.tenant);
      void run(entry.job).then((end) => {
        if (end.kind === 'done') this.#entries.delete(entry.job.call);
        else this.#waitLater(entry, end.afterMs);
        running.delete(entry.job.tenant);
        this.#pumpSoon();
      });
    }
  }

  #waitLater(entry: Entry, afterMs: number): void {
    entry.state = 'delayed';
    entry.waitingSince = performance.now() + afterMs;
    const wait = (): void => {
      entry.state = 'waiting';
      this.#laneOf(entry.job.lane).offerAgain(entry);
      this.#pumpSoon();
    };
    // A job that waits keeps no process alive.
    entry.timer = setTimeout(wait, afterMs).unref();
  }
}

/** Jobs of this process, which end with it; needs no store. `lanes`: those whose state is told before their first job. */
export const createMemoryJobQueue = (lanes: readonly string[] = []): JobQueue => new MemoryJobQueue(lanes);
