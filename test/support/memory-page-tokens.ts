import type { StoreMemory } from '#src/memory/store-memory.ts';
import { createRecordPageTokens } from '#src/sessions/record-page-tokens.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { PageTokenStore } from '#src/tools/page-tokens.ts';

/** Page tokens in this process. */
export const createMemoryPageTokens = (options: {
  readonly ttlMs: number;
  readonly now: () => number;
  readonly memory: StoreMemory;
}): PageTokenStore =>
  createRecordPageTokens({ store: createMemoryRecordStore(options), local: null, ttlMs: options.ttlMs });
