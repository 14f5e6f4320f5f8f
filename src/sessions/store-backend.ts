import type { OpenedStore } from '../store/opened-store.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Sealing } from '../store/seals.ts';
import type { SharedChannels, SharedClient } from '../store/shared-connection.ts';
import type { StoreSpace } from './store-space.ts';

/** Where a part of the service that has records of its own keeps them. */
export type StoreBackend = Pick<OpenedStore, 'records' | 'keysOf'> & {
  /** What becomes of records when this process ends: they are gone, the next process has them, or all processes share them. */
  readonly durability: 'process' | OpenedStore['durability'];
  readonly space: StoreSpace;
  readonly sealing: Sealing;
  /** Calls the listener each time the store is back after it was away. */
  readonly onReturn: (listener: () => void) => void;
  /** Opens memory for the time when the store is away; null: the store is in the memory of this process. */
  readonly openOutageMemory: (() => RecordStore) | null;
  /** How processes that share the store reach each other; null: this process has the store alone. */
  readonly shared: { readonly client: SharedClient; readonly subscription: SharedChannels } | null;
};
