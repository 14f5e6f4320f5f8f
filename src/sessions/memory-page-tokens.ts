import { LRUCache } from 'lru-cache';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList, type PageTokenStore } from '../tools/page-tokens.ts';

const MAX_PAGES = 50_000;
const MAX_BYTES = 16 * 1024 * 1024;
// What an entry weighs beside its texts, roughly.
const ENTRY_BYTES = 400;

/** Page tokens that all can be forgotten at once. */
export type ClearablePageTokens = PageTokenStore & { readonly clear: () => void };

type Kept = { readonly session: string; readonly token: string };

/**
 * Page tokens in this process, each for `ttlMs` from when its page was read. At most 50 000 within about 16 MiB; those
 * that were not used for the longest time are forgotten first.
 */
export const createMemoryPageTokens = (options: {
  readonly ttlMs: number;
  readonly now: () => number;
  readonly maxPages?: number;
  readonly maxBytes?: number;
}): ClearablePageTokens => {
  const { ttlMs, now, maxPages = MAX_PAGES, maxBytes = MAX_BYTES } = options;
  // A session and its keys, in the order in which they came.
  const keysOf = new Map<string, Set<string>>();
  const tokens = new LRUCache<string, Kept>({
    max: maxPages,
    maxSize: maxBytes,
    sizeCalculation: ({ token }, key) => ENTRY_BYTES + key.length + token.length,
    ttl: ttlMs,
    // At its default the cache looks at the clock once a millisecond of real time, whatever `now` says.
    ttlResolution: 0,
    perf: { now },
    dispose: ({ session }, key, reason) => {
      if (reason !== 'set') forgetKey(keysOf, session, key);
    },
  });
  return {
    find: async (list, page) => tokens.get(toKey(list, page))?.token ?? null,
    keep: async (list, page, token) => {
      const key = toKey(list, page);
      const { session } = list;
      if (!isPageToken(token)) {
        tokens.delete(key);
        return;
      }
      tokens.set(key, { session, token });
      const keys = keysOf.get(session) ?? new Set();
      // One that is larger than all there may be was not taken.
      if (tokens.has(key)) keysOf.set(session, keys.add(key));
      const [oldest] = keys;
      if (keys.size > MAX_PAGES_PER_SESSION && oldest !== undefined) tokens.delete(oldest);
    },
    forget: async (session) => {
      for (const key of [...(keysOf.get(session) ?? [])]) tokens.delete(key);
    },
    clear: () => tokens.clear(),
  };
};

const forgetKey = (keysOf: Map<string, Set<string>>, session: string, key: string): void => {
  const keys = keysOf.get(session);
  keys?.delete(key);
  if (keys?.size === 0) keysOf.delete(session);
};

const toKey = ({ session, tool, query }: PageList, page: number): string =>
  JSON.stringify([session, tool, query, page]);
