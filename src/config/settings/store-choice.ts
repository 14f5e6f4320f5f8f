import { resolve } from 'node:path';

/** What keeps sessions and all else that is kept between requests. */
export type StoreChoice =
  | { readonly kind: 'memory' | 'redis' }
  | {
      readonly kind: 'sqlite';
      /** Absolute. */
      readonly path: string;
      /** What its answers survive: the death of the process, or also that of the machine. */
      readonly durable: 'process' | 'power';
    };

export const STORE_RULE = 'must be memory, redis, or sqlite:PATH, which may end with ?durable=power';

/** What STORE says; null: it says nothing that there is. */
export const parseStore = (text: string): StoreChoice | null => {
  if (text === 'memory' || text === 'redis') return { kind: text };
  const [, path, durable] = /^sqlite:([^?]+)(?:\?durable=(process|power))?$/.exec(text) ?? [];
  if (path === undefined || path.endsWith('/')) return null;
  return { kind: 'sqlite', path: resolve(path), durable: durable === 'power' ? 'power' : 'process' };
};

type StoreSettings = { readonly STORE?: string | undefined; readonly REDIS_URL?: string | undefined };

/** The store that the settings ask for. */
export const readStoreChoice = ({ STORE = '', REDIS_URL }: StoreSettings): StoreChoice =>
  parseStore(STORE) ?? { kind: REDIS_URL === undefined ? 'memory' : 'redis' };

/** How STORE contradicts REDIS_URL, as a predicate that says what to do; null where it does not. */
export const findStoreProblem = ({ STORE = '', REDIS_URL }: StoreSettings): string | null => {
  const kind = parseStore(STORE)?.kind;
  if (STORE.startsWith('sqlite:~'))
    return 'has a path that begins with ~, which only a shell expands: write the absolute path';
  if (kind === 'redis' && REDIS_URL === undefined)
    return 'is redis, and REDIS_URL is not set: set it to the address of the Redis, or STORE to memory or sqlite:PATH';
  if (kind !== undefined && kind !== 'redis' && REDIS_URL !== undefined)
    return `is ${kind}, and REDIS_URL is set, which is for STORE=redis alone: unset one of the two`;
  return null;
};
