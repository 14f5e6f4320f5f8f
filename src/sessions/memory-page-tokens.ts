import { hash } from 'node:crypto';
import { tenantOfKey, textBytes } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList, type PageTokenStore } from '../tools/page-tokens.ts';

// Measured: a token of a session that has no other, with the set that lists it.
const TOKEN_BYTES = 160;

/** Page tokens that all can be forgotten at once. */
export type ClearablePageTokens = PageTokenStore & { readonly clear: () => void };

/**
 * Page tokens in this process, each for `ttlMs` from when its page was read, in a store of `memory`: of the tenant that
 * holds most those that were not used for the longest time are forgotten first.
 */
export const createMemoryPageTokens = (options: {
  readonly ttlMs: number;
  readonly now: () => number;
  readonly memory: StoreMemory;
  readonly store?: 'pages' | 'refused_pages';
}): ClearablePageTokens => {
  const { ttlMs, now, memory, store = 'pages' } = options;
  // A session and its keys, in the order in which they came.
  const keysOf = new Map<string, Set<string>>();
  const tokens = memory.open<string>(store, {
    tenantOf: tenantOfToken,
    ttl: { ms: ttlMs, renewed: 'never' },
    now,
    onGone: (key) => forgetKey(keysOf, sessionOf(key), key),
  });
  return {
    find: async (list, page) => tokens.get(toKey(list, page)) ?? null,
    keep: async (list, page, token) => {
      const key = toKey(list, page);
      const { session } = list;
      if (!isPageToken(token)) {
        tokens.delete(key);
        return;
      }
      tokens.set(key, token, TOKEN_BYTES + textBytes(token) + textBytes(session));
      const keys = keysOf.get(session) ?? new Set();
      // One that is larger than all there may be was not taken.
      if (tokens.peek(key) !== undefined) keysOf.set(session, keys.add(key));
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

// Queries may be long, and are not kept.
const toKey = ({ session, tool, query }: PageList, page: number): string =>
  `${session}\n${hash('sha256', JSON.stringify([tool, query, page]))}`;

const sessionOf = (key: string): string => key.slice(0, key.lastIndexOf('\n'));
const tenantOfToken = (key: string): string => tenantOfKey(sessionOf(key));
