import type { RecordStore } from '../store/record-store.ts';
import type { Sealing } from '../store/seals.ts';
import type { SharedChannels, SharedClient } from '../store/shared-connection.ts';
import type { StoreSpace } from './store-space.ts';

/** Where a part of the service that has records of its own keeps them. */
export type StoreBackend = {
  /** What becomes of records when this process ends: they are gone, the next process has them, or all processes share them. */
  readonly durability: 'process' | 'file' | 'durable';
  readonly records: RecordStore;
  readonly space: StoreSpace;
  readonly sealing: Sealing;
  /** Keys of the records of a kind that an earlier process left in a store which this process has alone. */
  readonly keysOf: (kind: string) => readonly string[];
  /** Calls the listener each time the store is back after it was away. */
  readonly onReturn: (listener: () => void) => void;
  /** Opens memory for the time when the store is away; null: the store is in the memory of this process. */
  readonly openOutageMemory: (() => RecordStore) | null;
  /** How processes that share the store reach each other; null: this process has the store alone. */
  readonly shared: { readonly client: SharedClient; readonly subscription: SharedChannels } | null;
};
