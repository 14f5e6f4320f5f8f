/**
 * How many of the slots that a worker has for a lane all tenants share. The last one is kept for a tenant that has nothing
 * running there, so that no tenant's calls hold all slots, however long they take, while another waits. One slot alone
 * cannot be kept.
 */
export const sharedSlots = (slots: number): number => Math.max(1, slots - 1);

/** What runs of a lane in this process, by tenant. */
export class RunningJobs {
  readonly #tenants = new Map<string, number>();
  #count = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  get count(): number {
    return this.#count;
  }

  get tenants(): ReadonlyMap<string, number> {
    return this.#tenants;
  }

  add(tenant: string): void {
    this.#count += 1;
    this.#tenants.set(tenant, (this.#tenants.get(tenant) ?? 0) + 1);
  }

  delete(tenant: string): void {
    const left = (this.#tenants.get(tenant) ?? 1) - 1;
    this.#count -= 1;
    if (left > 0) this.#tenants.set(tenant, left);
    else this.#tenants.delete(tenant);
    if (this.#count > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  /** Resolves when nothing runs; where nothing more is taken, that is for good. */
  async whenIdle(): Promise<void> {
    if (this.#count === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }
}
