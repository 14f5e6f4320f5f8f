import { createStoreMemory, type StoreMemory } from '#src/memory/store-memory.ts';

/** Memory for stores that a test does not mean to fill. */
export const roomyMemory = (totalBytes = 64_000_000): StoreMemory => createStoreMemory({ totalBytes });
