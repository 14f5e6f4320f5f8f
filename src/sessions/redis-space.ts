import { KEPT_BELOW_PERCENT, type MayKeep, type SpaceObserver, type StoreFill } from '../store/store-observer.ts';
import type { RedisClient } from './redis-client.ts';

// The scale of the levels: what is kept within a second must fit into what is left.
const EVERY_MS = 1000;

/** Asks for the memory of Redis once a second. While that has not been answered everything is kept. */
export type RedisSpace = {
  /** Asked before an update, not in its decision: the answer changes with time. */
  readonly mayKeep: MayKeep;
  readonly start: () => void;
  readonly stop: () => void;
};

/**
 * What is written to a Redis that all replicas share: where it fills, first the dear things that can be missing are not
 * written. What was written is neither evicted nor dropped: it ends with its time to live.
 */
export const createRedisSpace = ({
  client,
  memoryBytes,
  observer,
  onFailed,
}: {
  readonly client: Pick<RedisClient, 'memory' | 'isReady' | 'onReady'>;
  /** Stands for Redis's own maxmemory where it has none or does not tell it. */
  readonly memoryBytes: number;
  readonly observer: SpaceObserver;
  readonly onFailed: (error: unknown) => void;
}): RedisSpace => {
  let percent = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const fill = readFill(await client.memory(), memoryBytes);
    percent = (fill.used / fill.max) * 100;
    observer.filled(fill);
  };
  const lookIfReady = (): void => {
    if (client.isReady()) void look().then(undefined, onFailed);
  };
  client.onReady(lookIfReady);
  return {
    mayKeep: (what) => {
      if (percent < KEPT_BELOW_PERCENT[what]) return true;
      observer.notKept(what);
      return false;
    },
    start: () => {
      timer = setInterval(lookIfReady, EVERY_MS).unref();
    },
    stop: () => clearInterval(timer),
  };
};

/** Of the fullest server. */
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
  return fullest;
};

const readField = (text: string, name: string): string | null =>
  new RegExp(`^${name}:([\\w-]{1,32})\\r?$`, 'm').exec(text)?.[1] ?? null;
