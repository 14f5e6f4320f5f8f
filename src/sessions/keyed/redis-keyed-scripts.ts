import * as z from 'zod';
import type { RedisClient } from '../redis-client.ts';
import { createRedisScript } from '../redis-script.ts';

type RunScript = (recordKey: string, ...parameters: string[]) => Promise<unknown>;

/** The atomic steps on a record. Each rejects when Redis does. */
export type KeyedScripts = Readonly<Record<'open' | 'read' | 'start' | 'renew' | 'commit' | 'amend', RunScript>>;

// The whole of tenant and key is the hash tag: a record is one cluster slot, and a tenant is many.
const toRedisKey = (recordKey: string): string => `recourse:{${recordKey}}:keyed`;

export const loadKeyedScripts = (client: RedisClient): KeyedScripts => {
  const folder = new URL('.', import.meta.url);
  const load = (file: string): RunScript => {
    const run = createRedisScript(client, folder, ['keyed-record.lua', file]);
    return (recordKey, ...parameters) => run([toRedisKey(recordKey)], parameters);
  };
  return {
    open: load('open.lua'),
    read: load('read.lua'),
    start: load('start.lua'),
    renew: load('renew.lua'),
    commit: load('commit.lua'),
    amend: load('amend.lua'),
  };
};

/** Where to read on, then index and result of calls that a try began; '' where no result is known. */
export const Page = z.tuple([z.int().nonnegative()], z.string());
export type Page = readonly [number, ...string[]];

/** Results by the index of their call; '' where a call began and none is known. */
export type KnownCalls = ReadonlyMap<number, string>;

/**
 * Reads a record on from its first page: several answers for a large one, which would not come in time as one. Null
 * where the key has begun another life meanwhile.
 */
export const readOn = async (
  { read }: Pick<KeyedScripts, 'read'>,
  record: { readonly recordKey: string; readonly life: string; readonly calls: number },
  firstPage: Page,
): Promise<KnownCalls | null> => {
  const known = new Map<number, string>();
  const { recordKey, life, calls } = record;
  let page = firstPage;
  for (;;) {
    const [next, ...words] = page;
    for (let position = 0; position < words.length; position += 2)
      known.set(Number(words[position]), words[position + 1] ?? '');
    if (next >= calls) return known;
    const more = Page.nullable().parse(await read(recordKey, life, String(next), String(calls)));
    if (more === null) return null;
    page = more;
  }
};
