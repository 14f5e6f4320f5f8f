import { LRUCache } from 'lru-cache';
import { isPageToken, type PageList, type PageTokens } from '../tools/page-tokens.ts';

const MAX_PAGES = 50_000;
const MAX_BYTES = 16 * 1024 * 1024;
// What an entry weighs beside its texts, roughly.
const ENTRY_BYTES = 300;

/**
 * Page tokens in this process, each for `ttlMs` from when its page was read. At most 50 000 within about 16 MiB; those
 * that were not used for the longest time are forgotten first.
 */
export const createMemoryPageTokens = (options: {
  readonly ttlMs: number;
  readonly now: () => number;
  readonly maxPages?: number;
  readonly maxBytes?: number;
}): PageTokens => {
  const { ttlMs, now, maxPages = MAX_PAGES, maxBytes = MAX_BYTES } = options;
  const tokens = new LRUCache<string, string>({
    max: maxPages,
    maxSize: maxBytes,
    sizeCalculation: (token, key) => ENTRY_BYTES + key.length + token.length,
    ttl: ttlMs,
    // At its default the cache looks at the clock once a millisecond of real time, whatever `now` says.
    ttlResolution: 0,
    perf: { now },
  });
  return {
    find: async (list, page) => tokens.get(toKey(list, page)) ?? null,
    keep: async (list, page, token) => {
      if (isPageToken(token)) tokens.set(toKey(list, page), token);
      else tokens.delete(toKey(list, page));
    },
  };
};

const toKey = ({ session, tool, query }: PageList, page: number): string =>
  JSON.stringify([session, tool, query, page]);
