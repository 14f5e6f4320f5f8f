import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';

/** A request that was not let in. `tenant` and `key` are null where nobody was found behind it. */
export type RefusedRequest = {
  readonly reason: string;
  readonly tenant: string | null;
  readonly key: string | null;
  /** Of the connection. */
  readonly address: string;
};

// A flood is one story, told again every ten seconds with how much of it there was.
const LOG_EVERY_MS = 10_000;
const MAX_STORIES = 1000;

/** Says who is refused and why: a line for each reason, tenant and key, ten seconds apart at least, with their number since. */
export const createRefusalLog = (options: { readonly log: Logger; readonly now: () => number }) => {
  const { log, now } = options;
  const stories = new LRUCache<string, { writtenAt: number; count: number }>({ max: MAX_STORIES });
  return ({ reason, tenant, key, address }: RefusedRequest): void => {
    // Whoever is anonymous is told apart by the address; strangers are not, for they may have any number of them.
    const name = `${reason} ${tenant} ${tenant === 'anonymous' ? address : key}`;
    const story = stories.get(name) ?? { writtenAt: Number.NEGATIVE_INFINITY, count: 0 };
    stories.set(name, story);
    story.count += 1;
    if (now() - story.writtenAt < LOG_EVERY_MS) return;
    log.warn({ reason, tenant, key, address, count: story.count }, 'requests refused');
    story.writtenAt = now();
    story.count = 0;
  };
};
