import * as z from 'zod';
import type { Droppable } from '../../executor/store-observer.ts';
import type { RedisClient } from '../redis-client.ts';
import { createRedisScript } from '../redis-script.ts';
import { type Entry, readWords } from '../space-ledger.ts';

/** Where what is kept is written down: one cluster slot. */
export const SPACE_KEYS = {
  totals: 'recourse:{kept}',
  order: 'recourse:{kept}:order',
  lease: 'recourse:{kept}:lease',
  toLog: (tenant: string): string => `recourse:{kept}:log:${tenant}`,
} as const;

export type DropOldest = {
  /** Drops the oldest of a tenant, or of all (null), until about `bytes` are free, `until` is reached or nothing is left. */
  readonly drop: (tenant: string | null, bytes: number, until: number) => Promise<void>;
  /** Takes out of the logs what has expired by itself. */
  readonly dropExpired: (until: number) => Promise<void>;
};

// A script keeps all others waiting, who have 50 ms: of records with large results it takes few.
const AT_ONCE = { journal: 64, result: 8 } as const satisfies Record<Droppable, number>;
// What was written while its chunk was on its way is older than the chunk, also by Redis's own clock.
const SLACK_MS = 100;

const Chunk = z.string().nullable();
const Flags = z.array(z.int());

type DropOptions = {
  readonly client: RedisClient;
  /** How long a session and a record live after they were used, in milliseconds. */
  readonly lives: Readonly<Record<Droppable, number>>;
  /** The server's clock. */
  readonly serverNow: () => number;
  readonly now: () => number;
  readonly onDropped: (what: Droppable, count: number) => void;
  /** Has been used since it was entered: it is entered anew. */
  readonly onUsed: (entry: Entry) => void;
};

type DropEntries = (what: Droppable, entries: readonly Entry[], longest: number) => Promise<void>;

const createDropEntries = ({ client, onDropped, onUsed }: DropOptions): DropEntries => {
  const call = client.callPatiently;
  const load = (...files: readonly string[]) => createRedisScript({ call }, new URL('../', import.meta.url), files);
  const scripts = {
    journal: load('lua/digits.lua', 'lua/session-state.lua', 'lua/loop-guard.lua', 'space/drop-journals.lua'),
    result: load('space/drop-results.lua'),
  } as const satisfies Record<Droppable, unknown>;
  return async (what, entries, longest) => {
    // Of several keys in one command a cluster wants one slot.
    const size = client.topology === 'cluster' ? 1 : AT_ONCE[what];
    for (let start = 0; start < entries.length; start += size) {
      const some = entries.slice(start, start + size);
      const keys = some.flatMap(({ key }) => TO_KEYS[what](key));
      const flags = Flags.parse(await scripts[what](keys, [String(Math.max(0, longest))]));
      const used = some.filter((_, position) => flags[position] !== 1);
      onDropped(what, some.length - used.length);
      used.forEach(onUsed);
    }
  };
};

/** Drops what is oldest, a chunk of a log at a time: first what it names, then the chunk. Rejects when Redis does. */
export const createDropOldest = (options: DropOptions): DropOldest => {
  const { client, lives, now, serverNow } = options;
  const call = client.callPatiently;
  const longestLife = Math.max(...Object.values(lives));
  const dropEntries = createDropEntries(options);
  const remove = createRedisScript({ call }, new URL('./', import.meta.url), ['remove.lua']);
  const first = async (key: string): Promise<string | null> => Chunk.parse(await call('LINDEX', key, '0'));

  const dropNamed = async (tenant: string, { at, words }: ReturnType<typeof readChunk>): Promise<void> => {
    const entries = readWords(tenant, words);
    const age = serverNow() - at - SLACK_MS;
    for (const what of ['journal', 'result'] as const) {
      const named = entries.filter((entry) => entry.what === what);
      await dropEntries(what, named, Math.round(lives[what] - age));
    }
  };

  /** The bytes that the oldest chunk of a tenant stood for; null where there is none, or it is newer than its place. */
  const dropChunk = async (tenant: string, place: string | null): Promise<number | null> => {
    const log = SPACE_KEYS.toLog(tenant);
    const text = await first(log);
    const chunk = readChunk(text);
    const isDue = text !== null && (place === null || chunk.at <= readPlace(place).at);
    if (isDue) await dropNamed(tenant, chunk);
    const gone = isDue ? text : '';
    await remove([SPACE_KEYS.totals, SPACE_KEYS.order, log], [tenant, gone, String(chunk.bytes), place ?? '']);
    return isDue ? chunk.bytes : null;
  };

  const dropOf = async (tenant: string, bytes: number, until: number): Promise<void> => {
    for (let freed = 0; freed < bytes && now() < until; ) {
      const dropped = await dropChunk(tenant, null);
      if (dropped === null) return;
      freed += dropped;
    }
  };

  const dropOfAll = async (bytes: number, until: number): Promise<void> => {
    for (let freed = 0; freed < bytes && now() < until; ) {
      const place = await first(SPACE_KEYS.order);
      if (place === null) return;
      freed += (await dropChunk(readPlace(place).tenant, place)) ?? 0;
    }
  };

  return {
    drop: (tenant, bytes, until) => (tenant === null ? dropOfAll(bytes, until) : dropOf(tenant, bytes, until)),
    dropExpired: async (until) => {
      while (now() < until) {
        const place = await first(SPACE_KEYS.order);
        if (place === null || readPlace(place).at > serverNow() - longestLife) return;
        await dropChunk(readPlace(place).tenant, place);
      }
    },
  };
};

const TO_KEYS = {
  journal: (key: string) => [`recourse:{${key}}`, `recourse:{${key}}:journal`],
  result: (key: string) => [`recourse:{${key}}:keyed`],
} as const satisfies Record<Droppable, (key: string) => readonly string[]>;

const readPlace = (place: string): { readonly at: number; readonly tenant: string } => {
  const [at = '', tenant = ''] = place.split(' ');
  return { at: Number(at), tenant };
};

const readChunk = (chunk: string | null): { readonly at: number; readonly bytes: number; readonly words: string } => {
  const [, at = '0', bytes = '0', words = ''] = /^(\d{1,15}) (\d{1,15}) (.*)$/s.exec(chunk ?? '') ?? [];
  return { at: Number(at), bytes: Number(bytes), words };
};
