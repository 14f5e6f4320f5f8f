import { hash } from 'node:crypto';
import type { StoreMemory } from '../memory/store-memory.ts';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList } from '../tools/page-tokens.ts';
import { type ClearablePageTokens, createMemoryPageTokens } from './memory-page-tokens.ts';
import { createRedisScript, type RedisClient } from './redis-client.ts';
import { attemptCommand, type StoreAvailability } from './store-availability.ts';

type RedisPageOptions = {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt' | 'isUp'>;
  readonly ttlMs: number;
  readonly now: () => number;
  readonly memory: StoreMemory;
  /** Called for commands that Redis answered with an error of its own. */
  readonly onRefused?: (error: unknown) => void;
};

/**
 * Page tokens in Redis, shared by all replicas: one hash a session, for `ttlMs` from when a page was kept last. What it
 * answers counts, so that a session which has ended at one replica has ended at all. This process keeps those of its own
 * beside it, and finds them while Redis is away; `clear`, for when it is back, drops them all: which sessions have ended
 * meanwhile nobody knows. Those that Redis refused while it served all else are found as long as their session goes on.
 */
export const createRedisPageTokens = (options: RedisPageOptions): ClearablePageTokens => {
  const { client, availability, ttlMs, onRefused = ignore } = options;
  const local = createMemoryPageTokens(options);
  const save = createRedisScript(client, new URL('lua/', import.meta.url), ['keep-page.lua']);
  const ask = async (command: () => Promise<unknown>, what: 'reads' | 'writes') => {
    const reply = await attemptCommand(availability, 'page', what, command);
    if (reply.kind === 'refused') onRefused(reply.error);
    return reply;
  };
  const refused = createRefusedPageTokens(options, async (session) => {
    const reply = await ask(() => client.call('HGET', toSessionKey(session), 'born'), 'reads');
    if (reply.kind !== 'answered') return undefined;
    return typeof reply.answer === 'string' ? reply.answer : null;
  });
  return {
    find: async (list, page) => {
      // Newer than what Redis may have of that page. Where nothing was refused this asks nobody.
      const newer = await refused.find(list, page);
      if (newer !== null) return newer;
      const reply = await ask(() => client.call('HGET', toPagesKey(list.session), toField(list, page)), 'reads');
      if (reply.kind === 'answered' && typeof reply.answer === 'string' && isPageToken(reply.answer))
        return reply.answer;
      // A server that answers reads alone does not know what it was not let keep.
      return reply.kind === 'away' || !availability.isUp() ? local.find(list, page) : null;
    },
    keep: async (list, page, token) => {
      await local.keep(list, page, token);
      const words = [
        toField(list, page),
        isPageToken(token) ? token : '',
        String(ttlMs),
        String(MAX_PAGES_PER_SESSION),
      ];
      const reply = await ask(() => save([toPagesKey(list.session)], words), 'writes');
      await (reply.kind === 'refused' ? refused.keep(list, page, token) : refused.drop(list, page));
    },
    forget: async (session) => {
      await local.forget(session);
      await refused.forget(session);
      await ask(() => client.call('DEL', toPagesKey(session)), 'writes');
    },
    clear: () => {
      local.clear();
      refused.clear();
    },
  };
};

const ignore = (): void => undefined;

// The hash tag is the session's: its pages lie where it lies.
const toSessionKey = (session: string): string => `recourse:{${session}}`;
const toPagesKey = (session: string): string => `${toSessionKey(session)}:pages`;

const toField = ({ tool, query }: PageList, page: number): string =>
  `${hash('sha256', JSON.stringify([tool, query]))}:${page}`;

// What no birth of a session is: the batch that began it.
const UNBORN = '-';

/**
 * Page tokens that Redis refused while it served all else: kept in this process, for the session as it was then.
 * `readBirth` gives what tells two sessions of one name apart, null where there is none; undefined where it is not known.
 */
const createRefusedPageTokens = (
  options: RedisPageOptions,
  readBirth: (session: string) => Promise<string | null | undefined>,
) => {
  const tokens = createMemoryPageTokens({ ...options, store: 'refused_pages' });
  const births = createMemoryPageTokens({ ...options, store: 'refused_pages' });
  /** For a page that Redis has taken. */
  const drop = async (list: PageList, page: number): Promise<void> => {
    await tokens.keep(list, page, '');
    await births.keep(list, page, '');
  };
  return {
    drop,
    /** null also where the session has ended since, be it at another replica, or begun anew. */
    find: async (list: PageList, page: number): Promise<string | null> => {
      const token = await tokens.find(list, page);
      if (token === null) return null;
      const [then, birth] = [await births.find(list, page), await readBirth(list.session)];
      return birth !== undefined && then === (birth ?? UNBORN) ? token : null;
    },
    keep: async (list: PageList, page: number, token: string): Promise<void> => {
      const birth = await readBirth(list.session);
      if (birth === undefined) return drop(list, page);
      await births.keep(list, page, birth ?? UNBORN);
      await tokens.keep(list, page, token);
    },
    forget: async (session: string): Promise<void> => {
      await tokens.forget(session);
      await births.forget(session);
    },
    clear: (): void => {
      tokens.clear();
      births.clear();
    },
  };
};
