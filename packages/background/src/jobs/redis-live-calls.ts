import { createRedisScript } from '@recourse/store-redis/redis-client';
import { KEY_PREFIX } from 'recourse-server/store/key-prefix';
import type { SharedClient } from 'recourse-server/store/shared-connection';
import * as z from 'zod';
import { holderOf, RESULT_TTL_MS } from '../calls/call-kind.ts';
import { type LiveCall, type LiveCalls, LOOK_SOON_MS, type PendingLimits } from '../calls/live-calls.ts';

// Longer than any call is pending: it takes a day at most.
const INDEX_TTL_MS = String(2 * RESULT_TTL_MS);
const CALLS = `${KEY_PREFIX}:{pending}:calls`;
const HOLDERS = `${KEY_PREFIX}:{pending}:callers`;
// Redis goes through so many in some 0.1 ms.
const SCANNED_AT_ONCE = '500';

const Entered = z.enum(['known', 'entered', 'key', 'service']);
const LIMIT_OF = { key: 'ofKey', service: 'ofService' } as const;
const Entries = z.array(z.string());
const Due = z.tuple([z.int()], z.string());
const Scanned = z.tuple([z.string(), Entries]);

const toMs = (ms: number): string => String(Math.ceil(ms));
const toEntry = ({ key, holder }: LiveCall): string => JSON.stringify([key, holder]);
// Neither keys nor holders have anything to escape. An entry that is damaged says nothing.
const ENTRY = /^\["([^"\\]+)","([^"\\]+)"\]$/;
const readEntries = (entries: readonly string[]): readonly LiveCall[] =>
  entries.flatMap((entry) => {
    const [, key, holder] = ENTRY.exec(entry) ?? [];
    return key === undefined || holder === undefined ? [] : [{ key, holder }];
  });

const ignore = (): void => undefined;

type Options = {
  readonly client: Pick<SharedClient, 'callWithTimeout' | 'preload'>;
  readonly limits: Omit<PendingLimits, 'ofSession'>;
};

/** The live calls of all processes, in Redis. What waits for an answer rejects when Redis does. */
export const createRedisLiveCalls = ({ client, limits }: Options): LiveCalls => {
  const script = createRedisScript(client, new URL('lua/pending-index.lua', import.meta.url));
  const run = (step: string, ...words: readonly string[]): Promise<unknown> =>
    script([CALLS, HOLDERS], [step, INDEX_TTL_MS, ...words]);
  const toWords = (key: string, spec: Parameters<typeof holderOf>[0], lookAfterMs: number): readonly string[] => {
    const holder = holderOf(spec);
    return [toEntry({ key, holder }), holder, toMs(lookAfterMs)];
  };
  return {
    enter: async (key, spec) => {
      const words = [...toWords(key, spec, LOOK_SOON_MS), String(limits.ofKey), String(limits.ofService)];
      const entered = Entered.parse(await run('enter', ...words));
      return entered === 'known' || entered === 'entered'
        ? entered
        : { kind: 'full', of: entered, limit: limits[LIMIT_OF[entered]] };
    },
    enterAgain: (key, spec, lookAfterMs) =>
      void run('enter_again', ...toWords(key, spec, lookAfterMs)).then(ignore, ignore),
    leave: (call) => void run('leave', toEntry(call), call.holder).then(ignore, ignore),
    popDue: async (most) => {
      const [now, ...entries] = Due.parse(await run('due', String(most), toMs(LOOK_SOON_MS)));
      return { now, calls: readEntries(entries) };
    },
    lookAgain: (call, poppedAt, afterMs) => {
      const words = [toEntry(call), String(poppedAt + LOOK_SOON_MS), toMs(afterMs)];
      void run('look_again', ...words).then(ignore, ignore);
    },
    list: () => listAll(client),
  };
};

/** All entries, each once, however many there are; a scan may tell one twice. */
async function* listAll(client: Pick<SharedClient, 'callWithTimeout'>): ReturnType<LiveCalls['list']> {
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const scanned = await client.callWithTimeout('ZSCAN', CALLS, cursor, 'COUNT', SCANNED_AT_ONCE);
    const [next, words] = Scanned.parse(scanned);
    cursor = next;
    // Each entry is followed by its score.
    const fresh = words.filter((word, place) => place % 2 === 0 && !seen.has(word));
    for (const entry of fresh) seen.add(entry);
    yield readEntries(fresh);
  } while (cursor !== '0');
}
