import type { Redis } from 'ioredis';

const CHUNK = 40_000;

const readNumber = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);

/** Fills a Redis with keys of somebody else to this share of its memory: its maxmemory, unless told otherwise. */
export const fillRedis = async (direct: Redis, share: number, max?: number): Promise<void> => {
  const missing = async (): Promise<number> => {
    const info = await direct.info('memory');
    return share * (max ?? readNumber(info, 'maxmemory')) - readNumber(info, 'used_memory');
  };
  let made = await direct.dbsize();
  for (let bytes = await missing(); bytes > 0; bytes = await missing()) {
    const pipeline = direct.pipeline();
    // What a key takes is more than its text.
    for (let count = Math.ceil(bytes / CHUNK / 2); count > 0; count -= 1) {
      made += 1;
      pipeline.set(`foreign:${made}`, 'x'.repeat(CHUNK));
    }
    await pipeline.exec();
  }
};
