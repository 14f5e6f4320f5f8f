import type { Job } from './job-queue.ts';

/**
 * The jobs of one lane of this process that wait. The tenant whose last turn is longest ago runs next, with its oldest job. A
 * tenant without a turn comes before all that had one, and a job that comes again before both: it had its turn. A lane in which
 * nothing waits begins anew.
 *
 * Between two starts of a tenant that waits each other tenant starts once, and one that is new to the lane waits for no tenant that
 * had a turn. In Redis, where a job gets its place when it is queued, `lua/tenant-order.lua` has a rule with the same promises.
 */
export class FairLane<Entry extends { readonly job: Job }> {
  /** By tenant, what waits, oldest first: of tenants without a turn, and of the others in the order of their last turns. */
  readonly #fresh = new Map<string, Set<Entry>>();
  readonly #served = new Map<string, Set<Entry>>();
  /** Those that come again. */
  readonly #again = new Set<Entry>();

  *waiting(): Iterable<Entry> {
    yield* this.#again;
    for (const jobs of [...this.#fresh.values(), ...this.#served.values()]) yield* jobs;
  }

  offer(entry: Entry): void {
    const { tenant } = entry.job;
    const jobs = this.#served.get(tenant) ?? this.#fresh.get(tenant);
    if (jobs === undefined) this.#fresh.set(tenant, new Set([entry]));
    else jobs.add(entry);
  }

  offerAgain(entry: Entry): void {
    this.#again.add(entry);
  }

  /** Takes back a job that has not been taken. */
  remove(entry: Entry): void {
    this.#again.delete(entry);
    for (const tenants of [this.#fresh, this.#served]) tenants.get(entry.job.tenant)?.delete(entry);
    this.#beginAnew();
  }

  /** Takes the job that runs next, or the next one whose tenant is none of `passed`. */
  take(passed: ReadonlyMap<string, unknown> = NO_TENANTS): Entry | undefined {
    const again = this.#again.values().find(({ job }) => !passed.has(job.tenant));
    if (again !== undefined) {
      this.#again.delete(again);
      return again;
    }
    for (const tenants of [this.#fresh, this.#served])
      for (const [tenant, jobs] of tenants) {
        const [entry] = jobs;
        if (entry === undefined || passed.has(tenant)) continue;
        jobs.delete(entry);
        tenants.delete(tenant);
        this.#served.set(tenant, jobs);
        this.#beginAnew();
        return entry;
      }
    return undefined;
  }

  #beginAnew(): void {
    for (const tenants of [this.#fresh, this.#served]) for (const jobs of tenants.values()) if (jobs.size > 0) return;
    this.#fresh.clear();
    this.#served.clear();
  }
}

const NO_TENANTS: ReadonlyMap<string, unknown> = new Map();
