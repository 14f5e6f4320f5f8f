import type { StoreMemory } from '../memory/store-memory.ts';
import type { PageList } from '../tools/page-tokens.ts';
import { createMemoryPageTokens } from './memory-page-tokens.ts';

/** Page tokens that Redis refused while it served all else: kept in this process, for the session as it was then. */
type RefusedPageTokens = {
  /** null also where the session has ended since, be it at another replica, or begun anew. */
  readonly find: (list: PageList, page: number) => Promise<string | null>;
  readonly keep: (list: PageList, page: number, token: string) => Promise<void>;
  /** For a page that Redis has taken. */
  readonly drop: (list: PageList, page: number) => Promise<void>;
  readonly forget: (session: string) => Promise<void>;
  readonly clear: () => void;
};

// What no birth of a session is: the batch that began it.
const UNBORN = '-';

/** `readBirth` gives what tells two sessions of one name apart, null where there is none; undefined where nobody knows. */
export const createRefusedPageTokens = (options: {
  readonly ttlMs: number;
  readonly now: () => number;
  readonly memory: StoreMemory;
  readonly readBirth: (session: string) => Promise<string | null | undefined>;
}): RefusedPageTokens => {
  const { readBirth } = options;
  const tokens = createMemoryPageTokens({ ...options, store: 'refused_pages' });
  const births = createMemoryPageTokens({ ...options, store: 'refused_pages' });
  const drop = async (list: PageList, page: number): Promise<void> => {
    await tokens.keep(list, page, '');
    await births.keep(list, page, '');
  };
  return {
    find: async (list, page) => {
      const token = await tokens.find(list, page);
      if (token === null) return null;
      const [then, birth] = [await births.find(list, page), await readBirth(list.session)];
      return birth !== undefined && then === (birth ?? UNBORN) ? token : null;
    },
    keep: async (list, page, token) => {
      const birth = await readBirth(list.session);
      if (birth === undefined) return drop(list, page);
      await births.keep(list, page, birth ?? UNBORN);
      await tokens.keep(list, page, token);
    },
    drop,
    forget: async (session) => {
      await tokens.forget(session);
      await births.forget(session);
    },
    clear: () => {
      tokens.clear();
      births.clear();
    },
  };
};
