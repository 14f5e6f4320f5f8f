import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from './redis-client.ts';

/** Runs a script on its keys; rejects when Redis does. An answer that was lost may have been a step that was taken. */
export type RunRedisScript = (keys: readonly string[], parameters: readonly string[]) => Promise<unknown>;

/**
 * The script that these files of a folder make, put together in their order. It is sent by its hash, and whole where
 * the server does not know it: NOSCRIPT is the one error that says "certainly not applied".
 */
export const createRedisScript = (
  client: Pick<RedisClient, 'call'>,
  folder: URL,
  files: readonly string[],
): RunRedisScript => {
  const lua = files.map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n');
  const sha = createHash('sha1').update(lua).digest('hex');
  return async (keys, parameters) => {
    const words = [String(keys.length), ...keys, ...parameters];
    try {
      return await client.call('EVALSHA', sha, ...words);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.call('EVAL', lua, ...words);
    }
  };
};
