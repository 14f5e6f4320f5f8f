import type { RecordStore } from './record-store.ts';
import type { SharedChannels, SharedClient } from './shared-connection.ts';
import type { StoreWatcher } from './store-availability.ts';
import type { StoreFill } from './store-observer.ts';

/** A store outside of the memory of this process, which may be away: a package opens it, and the service guards it. */
export type OpenedStore = {
  /** The next process has its records, or all processes share them. */
  readonly durability: 'file' | 'durable';
  readonly records: RecordStore;
  /** Keys of the records of a kind that an earlier process left in a store which this process has alone. */
  readonly keysOf: (kind: string) => readonly string[];
  /** Tells the watcher how the store does, from `connect` on. */
  readonly watch: (watcher: StoreWatcher) => void;
  readonly isConnected: () => boolean;
  /** How full it is; null: it cannot be asked now. */
  readonly look: () => Promise<StoreFill> | null;
  /** Begins to serve, and calls `ready` each time it can be asked. Rejects where this service must not use the store. */
  readonly connect: (ready: () => void) => Promise<void>;
  /** How processes that share the store reach each other; null: this process has the store alone. */
  readonly shared: {
    readonly client: SharedClient & {
      /** Sends one command. Rejects with the store, or after 50 ms: such a command may have been applied. */
      readonly call: SharedClient['callWithTimeout'];
    };
    readonly subscription: SharedChannels;
  } | null;
  readonly close: () => void;
};
