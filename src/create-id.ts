import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** Makes ULIDs, rising within a process: ids of requests, batches and log references. */
export const createIdFactory = (): (() => string) => {
  const pool = new Uint8Array(1024);
  let used = pool.length;
  // The library's own random source draws one random byte per system call, sixteen times an id.
  const random = (): number => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const byte = pool[used] ?? 0;
    used += 1;
    return byte / 256;
  };
  const create = monotonicFactory(random);
  return () => create();
};
