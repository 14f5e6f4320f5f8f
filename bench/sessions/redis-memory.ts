import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as z from 'zod';

/** Bytes of one session by MEMORY USAGE, and the lines of its journal. */
export type KeySizes = { readonly hash: number; readonly journal: number; readonly lines: number };

/** What the bench asks a Redis of its own. */
export type RedisMemory = {
  /** Removes all keys, and waits until their memory is free again. */
  readonly empty: () => Promise<void>;
  readonly usedBytes: () => Promise<number>;
  readonly countSessions: () => Promise<number>;
  /** Of some of its sessions; a journal that is not there has 0 bytes and lines. */
  readonly sampleSessions: () => Promise<readonly KeySizes[]>;
  readonly describe: () => Promise<string>;
  readonly close: () => void;
};

const SAMPLE = 100;
const LOOK_EVERY_MS = 10;
const MOST_LOOKS = 1000;
// The hash of a session; its journal's key goes on after it.
const HASHES = 'recourse2:{*}:session';
const JOURNAL = ':list';

/** Connects to a Redis that holds the bench's sessions and nothing else. */
export const openRedisMemory = (url: string): RedisMemory => {
  const redis = new Redis(url);
  // Commands reject by themselves.
  redis.on('error', () => undefined);
  const readInfo = async (field: string): Promise<string> => {
    const value = new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await redis.info())?.[1];
    if (value === undefined) throw new Error(`INFO of Redis does not tell ${field}.`);
    return value;
  };
  const sizeOf = async (key: string): Promise<number> =>
    z
      .int()
      .nullable()
      .parse(await redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')) ?? 0;
  return {
    empty: async () => {
      // Not at once, for the service gives up an answer after 50 ms and would then count by itself.
      await redis.flushall('ASYNC');
      for (let looks = 0; (await readInfo('lazyfree_pending_objects')) !== '0'; looks += 1) {
        if (looks === MOST_LOOKS) throw new Error('Redis does not free its memory.');
        await pause(LOOK_EVERY_MS);
      }
    },
    usedBytes: async () => Number(await readInfo('used_memory')),
    countSessions: async () => (await redis.keys(HASHES)).length,
    sampleSessions: async () => {
      const hashes = (await redis.keys(HASHES)).toSorted().slice(0, SAMPLE);
      return Promise.all(
        hashes.map(async (key) => ({
          hash: await sizeOf(key),
          journal: await sizeOf(`${key}${JOURNAL}`),
          lines: await redis.llen(`${key}${JOURNAL}`),
        })),
      );
    },
    describe: async () => `Redis ${await readInfo('redis_version')}, ${await readInfo('mem_allocator')}`,
    close: () => redis.disconnect(),
  };
};
