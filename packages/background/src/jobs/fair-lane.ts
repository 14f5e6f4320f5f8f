import type { Job } from './job-queue.ts';

/**
 * The jobs of one lane that wait, in the order in which they run, so that tenants take turns: start-time fair queueing (Goyal,
 * Vin, Cheng 1996) where each job costs the same. A job has a tag; the lowest tag runs next, the older job among equals.
 *
 * - A job's tag is one more than that of the job before it of its tenant, and that of the first one that waits is no less than
 *   the lane's virtual time was when it came.
 * - The virtual time is the highest tag that was taken. A lane in which nothing waits begins anew.
 * - A job that comes again has had its turn, and runs before those that have not.
 *
 * While a tenant has jobs waiting and starts n of them, each other tenant starts at most n + 2. One that is new to the lane
 * waits for one start of each other tenant at most: where a tenant has a thousand jobs, the first of another runs next.
 * `packages/background/src/jobs/lua/tenant-order.lua` is the same rule, for Redis.
 */
export class FairLane<Entry extends { readonly job: Job }> {
  #time = FIRST_TAG;
  #offered = 0;
  readonly #tenants = new Map<string, TenantTurns<Entry>>();
  /** Those that come again. */
  readonly #again = new Set<Entry>();

  *waiting(): Iterable<Entry> {
    yield* this.#again;
    for (const { jobs } of this.#tenants.values()) yield* jobs.keys();
  }

  offer(entry: Entry): void {
    const { tenant } = entry.job;
    const turns = this.#tenants.get(tenant) ?? { tag: this.#time, jobs: new Map() };
    if (turns.jobs.size === 0) turns.tag = Math.max(this.#time, turns.tag);
    this.#offered += 1;
    turns.jobs.set(entry, this.#offered);
    this.#tenants.set(tenant, turns);
  }

  offerAgain(entry: Entry): void {
    this.#again.add(entry);
  }

  /** Takes back a job that has not been taken: those of its tenant behind it move up. */
  remove(entry: Entry): void {
    this.#again.delete(entry);
    this.#tenants.get(entry.job.tenant)?.jobs.delete(entry);
    this.#beginAnew();
  }

  /** Takes the job that runs next, or the next one whose tenant is none of `passed`. */
  take(passed: ReadonlyMap<string, unknown> = NO_TENANTS): Entry | undefined {
    for (const entry of this.#again) {
      if (passed.has(entry.job.tenant)) continue;
      this.#again.delete(entry);
      return entry;
    }
    const turns = this.#findNext(passed);
    const [entry] = turns?.jobs.keys() ?? [];
    if (turns === undefined || entry === undefined) return undefined;
    turns.jobs.delete(entry);
    this.#time = Math.max(this.#time, turns.tag);
    turns.tag += 1;
    this.#beginAnew();
    return entry;
  }

  #findNext(passed: ReadonlyMap<string, unknown>): TenantTurns<Entry> | undefined {
    let next: TenantTurns<Entry> | undefined;
    let order = 0;
    for (const [tenant, turns] of this.#tenants) {
      const [first] = turns.jobs.values();
      if (first === undefined || passed.has(tenant)) continue;
      if (next !== undefined && (turns.tag - next.tag || first - order) > 0) continue;
      next = turns;
      order = first;
    }
    return next;
  }

  #beginAnew(): void {
    for (const { jobs } of this.#tenants.values()) if (jobs.size > 0) return;
    this.#tenants.clear();
    this.#time = FIRST_TAG;
  }
}

const FIRST_TAG = 1;
const NO_TENANTS: ReadonlyMap<string, unknown> = new Map();

/** Of one tenant: the tag of the first of its jobs that wait, or the next one that it gets; when each was offered, oldest first. */
type TenantTurns<Entry> = { tag: number; readonly jobs: Map<Entry, number> };
