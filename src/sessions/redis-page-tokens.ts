import { hash } from 'node:crypto';
import type { StoreMemory } from '../memory/store-memory.ts';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList } from '../tools/page-tokens.ts';
import { type ClearablePageTokens, createMemoryPageTokens } from './memory-page-tokens.ts';
import type { RedisClient } from './redis-client.ts';
import { createRedisScript } from './redis-script.ts';
import { createRefusedPageTokens } from './refused-page-tokens.ts';
import type { StoreAvailability } from './store-availability.ts';

/**
 * Page tokens in Redis, shared by all replicas: one hash a session, for `ttlMs` from when a page was kept last. What it
 * answers counts, so that a session which has ended at one replica has ended at all. This process keeps those of its own
 * beside it, and finds them while Redis is away; `clear`, for when it is back, drops them all: which sessions have ended
 * meanwhile nobody knows. Those that Redis refused while it served all else are found as long as their session goes on.
 */
export const createRedisPageTokens = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt' | 'isUp'>;
  readonly ttlMs: number;
  readonly now: () => number;
  readonly memory: StoreMemory;
  /** Told of commands that Redis answered with an error of its own. */
  readonly onRefused?: (error: unknown) => void;
}): ClearablePageTokens => {
  const { client, availability, ttlMs } = options;
  const local = createMemoryPageTokens(options);
  const save = createRedisScript(client, new URL('lua/', import.meta.url), ['keep-page.lua']);
  const ask = createAsk(options);
  const readBirth = async (session: string): Promise<string | null | undefined> => {
    const asked = await ask(() => client.call('HGET', toSessionKey(session), 'born'), 'reads');
    if (asked.kind !== 'answered') return undefined;
    return typeof asked.answer === 'string' ? asked.answer : null;
  };
  const refused = createRefusedPageTokens({ ...options, readBirth });
  return {
    find: async (list, page) => {
      // Newer than what Redis may have of that page. Where nothing was refused this asks nobody.
      const newer = await refused.find(list, page);
      if (newer !== null) return newer;
      const asked = await ask(() => client.call('HGET', toRedisKey(list.session), toField(list, page)), 'reads');
      if (asked.kind === 'answered' && typeof asked.answer === 'string' && isPageToken(asked.answer))
        return asked.answer;
      // A server that answers reads alone does not know what it was not let keep.
      return asked.kind === 'away' || !availability.isUp() ? local.find(list, page) : null;
    },
    keep: async (list, page, token) => {
      await local.keep(list, page, token);
      const kept = isPageToken(token) ? token : '';
      const words = [toField(list, page), kept, String(ttlMs), String(MAX_PAGES_PER_SESSION)];
      const asked = await ask(() => save([toRedisKey(list.session)], words), 'writes');
      await (asked.kind === 'refused' ? refused.keep(list, page, token) : refused.drop(list, page));
    },
    forget: async (session) => {
      await local.forget(session);
      await refused.forget(session);
      await ask(() => client.call('DEL', toRedisKey(session)), 'writes');
    },
    clear: () => {
      local.clear();
      refused.clear();
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
const toSessionKey = (session: string): string => `recourse:{${session}}`;
const toRedisKey = (session: string): string => `${toSessionKey(session)}:pages`;

const toField = ({ tool, query }: PageList, page: number): string =>
  `${hash('sha256', JSON.stringify([tool, query]))}:${page}`;
