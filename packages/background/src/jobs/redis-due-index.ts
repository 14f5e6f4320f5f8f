import { createRedisScript } from '@recourse/store-redis/redis-client';
import { KEY_PREFIX } from 'recourse-server/store/key-prefix';
import type { SharedClient } from 'recourse-server/store/shared-connection';
import * as z from 'zod';
import type { DueEntry, DueIndex, DueLimits } from './due-index.ts';

// Redis goes through so many in some 0.1 ms.
const SCANNED_AT_ONCE = '500';

const Entered = z.enum(['existing', 'entered', 'holder_full', 'full']);
const Entries = z.array(z.string());
const Due = z.tuple([z.int(), z.int(), z.int()], z.string());
const Scanned = z.tuple([z.string(), Entries]);

const toMs = (ms: number): string => String(Math.ceil(ms));
const toText = ({ key, holder }: DueEntry): string => JSON.stringify([key, holder]);
// Neither keys nor holders have anything to escape. An entry that is damaged says nothing.
const ENTRY = /^\["([^"\\]+)","([^"\\]+)"\]$/;
const readEntries = (texts: readonly string[]): readonly DueEntry[] =>
  texts.flatMap((text) => {
    const [, key, holder] = ENTRY.exec(text) ?? [];
    return key === undefined || holder === undefined ? [] : [{ key, holder }];
  });

type Options = {
  readonly client: Pick<SharedClient, 'callWithTimeout' | 'preload'>;
  /** Names the keys of the index: of what, its entries, and how many each holder has. */
  readonly name: readonly [of: string, entries: string, holders: string];
  readonly limits: DueLimits;
  /** Longer than any record waits: an index that is not used for so long ends. */
  readonly ttlMs: number;
  /** Longer than any entry is put off: one that is due later is of a clock that was set back, and is due. */
  readonly furthestMs: number;
};

/** The index of all processes, in Redis. */
export const createRedisDueIndex = ({ client, name, limits, ttlMs, furthestMs }: Options): DueIndex => {
  const script = createRedisScript(client, new URL('lua/due-index.lua', import.meta.url));
  const [of, ...keys] = name;
  const [entriesKey = '', holdersKey = ''] = keys.map((key) => `${KEY_PREFIX}:{${of}}:${key}`);
  const run = (step: string, ...args: readonly string[]): Promise<unknown> =>
    script([entriesKey, holdersKey], [step, toMs(ttlMs), ...args]);
  const most = [limits.ofHolder, limits.ofAll].map(String);
  return {
    enter: async (entry, afterMs) =>
      Entered.parse(await run('enter', toText(entry), entry.holder, toMs(afterMs), ...most)),
    enterAgain: async (entry, afterMs) => void (await run('enter_again', toText(entry), entry.holder, toMs(afterMs))),
    leave: async (entry) => void (await run('leave', toText(entry), entry.holder)),
    popDue: async (count, againMs) => {
      const due = await run('due', String(count), toMs(againMs), toMs(furthestMs));
      const [now, all, nextAt, ...texts] = Due.parse(due);
      const nextMs = all === 0 ? null : Math.max(0, nextAt - now);
      return { now, entries: readEntries(texts), count: all, nextMs };
    },
    putOff: async (entry, dueAt, afterMs) => void (await run('put_off', toText(entry), String(dueAt), toMs(afterMs))),
    list: () => listAll(client, entriesKey),
  };
};

/** Of the pending calls of all processes. */
export const createRedisLiveCalls = (
  client: Options['client'],
  { ofKey, ofService }: { readonly ofKey: number; readonly ofService: number },
): DueIndex =>
  createRedisDueIndex({
    client,
    name: ['pending', 'calls', 'callers'],
    limits: { ofHolder: ofKey, ofAll: ofService },
    // A call is pending for a day at most, and a look at it is put off for 15 s.
    ttlMs: 48 * HOUR_MS,
    furthestMs: 30_000,
  });

/** Of the messages of an endpoint. */
export const createRedisDeliveryIndex =
  (client: Options['client']) =>
  (endpoint: string, limits: DueLimits): DueIndex =>
    createRedisDueIndex({
      client,
      name: [`webhooks:${endpoint}`, 'due', 'tenants'],
      limits,
      // A message is tried, and put off, for a day at most.
      ttlMs: 25 * HOUR_MS,
      furthestMs: 25 * HOUR_MS,
    });

const HOUR_MS = 3_600_000;

/** All entries, each once, however many there are; a scan may tell one twice. */
async function* listAll(client: Pick<SharedClient, 'callWithTimeout'>, key: string): ReturnType<DueIndex['list']> {
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const scanned = await client.callWithTimeout('ZSCAN', key, cursor, 'COUNT', SCANNED_AT_ONCE);
    const [next, scores] = Scanned.parse(scanned);
    cursor = next;
    // Each entry is followed by its score.
    const fresh = scores.filter((text, place) => place % 2 === 0 && !seen.has(text));
    for (const entry of fresh) seen.add(entry);
    yield readEntries(fresh);
  } while (cursor !== '0');
}
