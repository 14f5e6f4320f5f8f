import { OpenedStoreSpace, type StoreSpace } from '#src/sessions/store-space.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import type { Keepable, StoreFill } from '#src/store/store-observer.ts';

/** A space that has room for some things. `kept`: what all tenants keep by its account, in bytes. */
export const createPlainSpace = (
  hasRoom: (what: Keepable) => boolean = () => true,
): StoreSpace & { readonly kept: () => number } => {
  let kept = 0;
  return {
    kept: () => kept,
    mayKeepJournals: () => hasRoom('journals'),
    take: (_tenant, what, { bytes }) => {
      if (!hasRoom(what)) return { of: 'store', limit: 85 };
      kept += bytes;
      return null;
    },
    fill: () => null,
    add: (_tenant, { bytes }) => {
      kept += bytes;
    },
    give: (_tenant, { bytes }) => {
      kept -= bytes;
    },
  };
};

export const MB = 1_000_000;
const HOUR_MS = 3_600_000;

/** What a process knows of the space of a store of 10 MB, of which so much is in `usage`. */
export const openSpace = (
  store: RecordStore,
  now: () => number = Date.now,
  usage: { bytes: number } = { bytes: MB / 2 },
) => {
  const refused: string[] = [];
  const failures: unknown[] = [];
  const toWeight = (bytes: number, endsInHours = 24) => ({ bytes, endsAt: now() + endsInHours * HOUR_MS });
  const space = new OpenedStoreSpace({
    store,
    look: () => Promise.resolve({ used: usage.bytes, max: 10 * MB, servers: 1, policy: null } satisfies StoreFill),
    observer: { filled: () => undefined, notKept: (...words) => void refused.push(words.join(' ')) },
    onFailed: (error) => void failures.push(error),
  });
  return {
    space,
    refused,
    failures,
    /** Of something that is kept for a day. */
    toWeight,
    /** Has it look at a store that uses so much. */
    look: async (usedNow: number): Promise<void> => {
      usage.bytes = usedNow;
      await space.look();
    },
    /** Takes pieces one after the other until one finds no room: how many bytes it has taken, and why it stopped. */
    fillUp: async (tenant: string, bytes: number, what: Exclude<Keepable, 'journals'> = 'arguments') => {
      for (let taken = 0; ; taken += bytes) {
        const shortage = await space.take(tenant, what, toWeight(bytes));
        if (shortage !== null || taken > 20 * MB) return { taken, shortage };
        usage.bytes += bytes;
      }
    },
  };
};
