/**
 * The rule by which `packages/background/src/jobs/lua/tenant-order.lua` gives tags, as simple as it can be said.
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
const HIGHEST_TAG = 2_097_151;
const FIRST_TAG = 1;

/** The tags that one tenant has waiting: all from its lowest to `last`, for who waits is never behind the virtual time. */
type TenantTags = { last: number; readonly waiting: Map<number, string> };

/** A lane in which nothing waits begins anew. */
export const createFairTurns = (): FairTurns => {
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
      const tag = Math.min(HIGHEST_TAG, Math.max(virtualTime, tags.last + 1));
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
      if (last === HIGHEST_TAG || youngest === undefined) {
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
