import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';
import { createStoreMemory, type StoreMemory, toStoreBytes } from '../memory/store-memory.ts';
import type { Config } from '../settings/config.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const MIB = 1024 * 1024;

/** The memory that all stores of this process share: a part of what V8 lets the heap grow to. */
export const wireMemory = (
  { STORE_MEMORY_MB }: Config,
  log: Logger,
  metrics: Metrics,
  heapLimitBytes = getHeapStatistics().heap_size_limit,
): StoreMemory => {
  const totalBytes = toStoreBytes(heapLimitBytes, STORE_MEMORY_MB);
  const told = { store_memory_mb: Math.floor(totalBytes / MIB), heap_limit_mb: Math.floor(heapLimitBytes / MIB) };
  if (STORE_MEMORY_MB !== undefined && totalBytes < STORE_MEMORY_MB * MIB)
    log.warn({ ...told, asked_mb: STORE_MEMORY_MB }, 'STORE_MEMORY_MB is more than the heap has room for');
  log.debug(told, 'memory of stores');
  return createStoreMemory({ totalBytes, watch: metrics.watchStore });
};
