import type { StoreFill } from 'recourse-server/store/store-observer';
import type { RedisClient } from './redis-client.ts';

/** Asks Redis how full it is. `memoryBytes` stands for its own maxmemory where it has none or does not tell it. */
export const createRedisLook =
  (client: Pick<RedisClient, 'memory' | 'isReady'>, memoryBytes: number) => (): Promise<StoreFill> | null =>
    client.isReady() ? client.memory().then((answers) => readFill(answers, memoryBytes)) : null;

/** Of the fullest server, and of the first that evicts. */
const readFill = (answers: readonly string[], memoryBytes: number): StoreFill => {
  const fills = answers.map((text) => ({
    used: Number(readField(text, 'used_memory') ?? 0),
    // 0 is none.
    max: Number(readField(text, 'maxmemory') ?? 0) || memoryBytes,
    policy: readField(text, 'maxmemory_policy'),
  }));
  const [fullest = { used: 0, max: memoryBytes, policy: null }] = fills.toSorted(
    (one, other) => other.used / other.max - one.used / one.max,
  );
  const evicting = fills.find(({ policy }) => policy !== null && policy !== 'noeviction');
  return { ...fullest, servers: Math.max(1, fills.length), policy: evicting?.policy ?? fullest.policy };
};

const readField = (text: string, name: string): string | null =>
  new RegExp(`^${name}:([\\w-]{1,32})\\r?$`, 'm').exec(text)?.[1] ?? null;
