import { hash } from 'node:crypto';
import { isPageToken, type PageList, type PageTokens } from '../tools/page-tokens.ts';
import { createMemoryPageTokens } from './memory-page-tokens.ts';
import type { RedisClient } from './redis-client.ts';
import type { StoreAvailability } from './store-availability.ts';

/**
 * Page tokens in Redis, shared by all replicas: one string a page, for `ttlMs` from when it was kept. This process keeps
 * those of its own beside it, and finds them where Redis is away, refuses or has lost them.
 */
export const createRedisPageTokens = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt'>;
  readonly ttlMs: number;
  readonly now: () => number;
  /** Told of commands that Redis answered with an error of its own. */
  readonly onRefused?: (error: unknown) => void;
}): PageTokens => {
  const { client, availability, ttlMs, onRefused = ignore } = options;
  const local = createMemoryPageTokens(options);
  // One that is refused takes nothing away: it may be pages alone that lack a right, or one key that is no string.
  const refused = (error: unknown): typeof REFUSED => {
    if (!isReply(error)) throw error;
    onRefused(error);
    return REFUSED;
  };
  const ask = (command: 'GET' | 'SET' | 'DEL', ...parameters: string[]) =>
    availability.attempt(
      'page',
      () => client.call(command, ...parameters).then(undefined, refused),
      // A server that answers reads alone does not serve.
      (answer) => command !== 'GET' && answer !== REFUSED,
    );
  return {
    find: async (list, page) => {
      const asked = await ask('GET', toRedisKey(list, page));
      const token = asked.kind === 'answered' ? asked.answer : null;
      return typeof token === 'string' && isPageToken(token) ? token : local.find(list, page);
    },
    keep: async (list, page, token) => {
      await local.keep(list, page, token);
      const key = toRedisKey(list, page);
      if (isPageToken(token)) await ask('SET', key, token, 'PX', String(ttlMs));
      else await ask('DEL', key);
    },
  };
};

const REFUSED = Symbol('refused');
const ignore = (): void => undefined;

// As ioredis names what the server itself says.
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

// The hash tag is the session's: its pages lie where it lies.
const toRedisKey = ({ session, tool, query }: PageList, page: number): string =>
  `recourse:{${session}}:page:${hash('sha256', JSON.stringify([tool, query]))}:${page}`;
