import type { BudgetMode } from '#src/contract/tool-result.ts';
import type { SessionSettings } from '#src/executor/session-store.ts';
import type { StoreMemory } from '#src/memory/store-memory.ts';
import { createRecordSessionStore, type RecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { unpackRound } from './marks.ts';

/** Sessions in this process, as the service keeps them without Redis or while that is away. */
export const createMemorySessionStore = ({
  mode,
  settings,
  memory,
  now,
}: {
  readonly mode: BudgetMode;
  readonly settings: SessionSettings;
  readonly memory: StoreMemory;
  readonly now: () => number;
}): RecordSessionStore & { readonly clear: () => void } => {
  const store = createMemoryRecordStore({ memory, now });
  return { ...createRecordSessionStore({ mode, settings, unpackRound, store }), clear: store.clear };
};
