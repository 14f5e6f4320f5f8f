import { hash } from 'node:crypto';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList, type PageTokenStore } from '../tools/page-tokens.ts';
import { createMemoryPageTokens } from './memory-page-tokens.ts';
import type { RedisClient } from './redis-client.ts';
import { createRedisScript } from './redis-script.ts';
import type { StoreAvailability } from './store-availability.ts';

/**
 * Page tokens in Redis, shared by all replicas: one hash a session, for `ttlMs` from when a page was kept last. What it
 * answers counts, so that a session which has ended at one replica has ended at all. This process keeps those of its own
 * beside it, and finds them where Redis is away or refuses; those that Redis never took it finds afterwards, too.
 */
export const createRedisPageTokens = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt'>;
  readonly ttlMs: number;
  readonly now: () => number;
  /** Told of commands that Redis answered with an error of its own. */
  readonly onRefused?: (error: unknown) => void;
}): PageTokenStore => {
  const { client, ttlMs } = options;
  const local = createMemoryPageTokens(options);
  const unshared = createMemoryPageTokens(options);
  const save = createRedisScript(client, new URL('lua/', import.meta.url), ['keep-page.lua']);
  const ask = createAsk(options);
  return {
    find: async (list, page) => {
      const asked = await ask(() => client.call('HGET', toRedisKey(list.session), toField(list, page)), 'reads');
      if (asked.kind !== 'answered') return local.find(list, page);
      const token = asked.answer;
      return typeof token === 'string' && isPageToken(token) ? token : unshared.find(list, page);
    },
    keep: async (list, page, token) => {
      await local.keep(list, page, token);
      const kept = isPageToken(token) ? token : '';
      const words = [toField(list, page), kept, String(ttlMs), String(MAX_PAGES_PER_SESSION)];
      const asked = await ask(() => save([toRedisKey(list.session)], words), 'writes');
      // What is no token is kept by none.
      await unshared.keep(list, page, asked.kind === 'answered' ? '' : token);
    },
    forget: async (session) => {
      await local.forget(session);
      await unshared.forget(session);
      await ask(() => client.call('DEL', toRedisKey(session)), 'writes');
    },
  };
};

type Asked = { readonly kind: 'answered'; readonly answer: unknown } | { readonly kind: 'away' | 'refused' };

/** Asks Redis, unless it is known to be away. Never rejects. */
const createAsk = ({
  availability,
  onRefused = ignore,
}: {
  readonly availability: Pick<StoreAvailability, 'attempt'>;
  readonly onRefused?: (error: unknown) => void;
}) => {
  const answered = (answer: unknown): Asked => ({ kind: 'answered', answer });
  // One that is refused takes nothing away: it may be pages alone that lack a right, or one key that is no hash.
  const refused = (error: unknown): Asked => {
    if (!isReply(error)) throw error;
    onRefused(error);
    return { kind: 'refused' };
  };
  return async (command: () => Promise<unknown>, what: 'reads' | 'writes'): Promise<Asked> => {
    const attempt = await availability.attempt(
      'page',
      () => command().then(answered, refused),
      // A server that answers reads alone does not serve.
      ({ kind }) => what === 'writes' && kind === 'answered',
    );
    return attempt.kind === 'answered' ? attempt.answer : { kind: 'away' };
  };
};

const ignore = (): void => undefined;

// As ioredis names what the server itself says.
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

// The hash tag is the session's: its pages lie where it lies.
const toRedisKey = (session: string): string => `recourse:{${session}}:pages`;

const toField = ({ tool, query }: PageList, page: number): string =>
  `${hash('sha256', JSON.stringify([tool, query]))}:${page}`;
