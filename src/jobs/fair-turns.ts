/**
 * In which order the jobs of one lane run, so that tenants take turns: start-time fair queueing (Goyal, Vin, Cheng 1996)
 * where each job costs the same. A job gets a tag when it is offered; the lowest tag runs next, the older job among equals.
 *
 * - A job's tag is one more than the tag that its tenant got last, and no less than the lane's virtual time.
 * - The virtual time is the highest tag that was taken.
 *
 * While a tenant has jobs waiting and starts n of them, each other tenant starts at most n + 2. One that is new to the lane
 * waits for one start of each other tenant at most: where a tenant has a thousand jobs, the first of another runs next.
 * `src/jobs/lua/turns.lua` is the same rule, for Redis.
 */
export type FairTurns = {
  /** The tag of a job that is offered now. */
  readonly offer: (tenant: string, call: string) => number;
  /** A job was taken. */
  readonly take: (tenant: string, call: string, tag: number) => void;
  /**
   * A job was removed that nobody had taken: the youngest job of its tenant takes its place, so that a tenant which
   * removes jobs does not wait behind their tags. Null where no other job moves.
   */
  readonly remove: (
    tenant: string,
    call: string,
    tag: number,
  ) => { readonly call: string; readonly tag: number } | null;
};

/** The highest priority that BullMQ has; jobs beyond it run in the order in which they came. */
export const HIGHEST_TAG = 2_097_151;
const FIRST_TAG = 1;

/** The tags that one tenant has waiting: all from its lowest to `last`, for who waits is never behind the virtual time. */
type TenantTags = { last: number; readonly waiting: Map<number, string> };

/** A lane in which nothing waits begins anew. */
export const createFairTurns = (highestTag = HIGHEST_TAG): FairTurns => {
  let virtualTime = FIRST_TAG;
  let waiting = 0;
  const tenants = new Map<string, TenantTags>();
  const tagsOf = (tenant: string): TenantTags => {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const fresh = { last: 0, waiting: new Map<number, string>() };
    tenants.set(tenant, fresh);
    return fresh;
  };
  const forget = (tags: TenantTags, tag: number): void => {
    tags.waiting.delete(tag);
    waiting -= 1;
    if (waiting > 0) return;
    tenants.clear();
    virtualTime = FIRST_TAG;
  };
  return {
    offer: (tenant, call) => {
      const tags = tagsOf(tenant);
      const tag = Math.min(highestTag, Math.max(virtualTime, tags.last + 1));
      tags.last = tag;
      if (!tags.waiting.has(tag)) waiting += 1;
      tags.waiting.set(tag, call);
      return tag;
    },
    take: (tenant, call, tag) => {
      const tags = tenants.get(tenant);
      // A job that comes again may have the tag of a lane that has begun anew since.
      if (tags?.waiting.get(tag) !== call) return;
      virtualTime = Math.max(virtualTime, tag);
      forget(tags, tag);
    },
    remove: (tenant, call, tag) => {
      const tags = tenants.get(tenant);
      if (tags?.waiting.get(tag) !== call) return null;
      const { last } = tags;
      const youngest = tags.waiting.get(last);
      // Beyond the highest tag jobs share one, and the lane keeps no order that a removal could disturb.
      if (last === highestTag || youngest === undefined) {
        forget(tags, tag);
        return null;
      }
      tags.waiting.set(tag, youngest);
      tags.last -= 1;
      forget(tags, last);
      return last === tag ? null : { call: youngest, tag };
    },
  };
};
