import { createRedisScript } from '@recourse/store-redis/redis-client';
import { KEY_PREFIX, type SharedClient } from 'recourse-server/store/shared-connection';
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

type Client = Pick<SharedClient, 'callWithTimeout' | 'openScript'>;

/** Opens indexes of all processes, in Redis. */
const createRedisDueIndexes = (
  client: Client,
  {
    names: [entries, holders],
    ttlMs,
    furthestMs,
  }: {
    /** How its keys end: of the entries, and of how many each holder has. */
    readonly names: readonly [entries: string, holders: string];
    /** Longer than any record waits: an index that is not used for so long ends. */
    readonly ttlMs: number;
    /** Longer than any entry is put off: one that is due later is of a clock that was set back, and is due. */
    readonly furthestMs: number;
  },
) => {
  const script = createRedisScript(client, new URL('lua/due-index.lua', import.meta.url));
  /** `of`: what its keys begin with, which keeps them together in a cluster. */
  return (of: string, limits: DueLimits): DueIndex => {
    const entriesKey = `${KEY_PREFIX}:{${of}}:${entries}`;
    const keys = [entriesKey, `${KEY_PREFIX}:{${of}}:${holders}`];
    const run = (step: string, ...args: readonly string[]): Promise<unknown> =>
      script(keys, [step, toMs(ttlMs), ...args]);
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
};

const HOUR_MS = 3_600_000;
// A call is pending for a day at most, and a look at it is put off for 15 s.
const CALLS = { ttlMs: 48 * HOUR_MS, furthestMs: 30_000 } as const;

/** Of the pending calls of all processes. */
export const createRedisLiveCalls = (
  client: Client,
  { ofKey, ofService }: { readonly ofKey: number; readonly ofService: number },
): DueIndex =>
  createRedisDueIndexes(client, { ...CALLS, names: ['calls', 'callers'] })('pending', {
    ofHolder: ofKey,
    ofAll: ofService,
  });

/** Of the pending calls of each session, of which it has one of a fingerprint. */
export const createRedisSessionCalls = (client: Client, most: number) => {
  const open = createRedisDueIndexes(client, { ...CALLS, names: ['pending', 'fingerprints'] });
  return (sessionKey: string): DueIndex => open(sessionKey, { ofHolder: 1, ofAll: most });
};

/** Of the messages of an endpoint. */
export const createRedisDeliveryIndex = (client: Client) => {
  // A message is tried, and put off, for a day at most.
  const terms = { names: ['due', 'tenants'], ttlMs: 25 * HOUR_MS, furthestMs: 25 * HOUR_MS } as const;
  const open = createRedisDueIndexes(client, terms);
  return (endpoint: string, limits: DueLimits): DueIndex => open(`webhooks:${endpoint}`, limits);
};

/** Of the effects of writes that are looked for. */
export const createRedisEffectIndex = (client: Client, limits: DueLimits): DueIndex =>
  createRedisDueIndexes(client, {
    // Longer than an effect is looked for, and than a look at it is put off.
    ...{ names: ['effects', 'tenants'], ttlMs: 25 * HOUR_MS, furthestMs: 25 * HOUR_MS },
  })('effects', limits);

/** Of the approvals that people have to decide, and of those whose calls have to be told. */
export const createRedisApprovalIndex = (client: Client, limits: DueLimits): DueIndex =>
  createRedisDueIndexes(client, {
    // An approval waits for a day at most.
    ...{ names: ['approvals', 'tenants'], ttlMs: 25 * HOUR_MS, furthestMs: 25 * HOUR_MS },
  })('approvals', limits);

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
