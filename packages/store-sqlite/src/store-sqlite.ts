import type { OpenedStore } from 'recourse-server/store/opened-store';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import { serveCopies } from './sqlite-copies.ts';
import type { SqliteFile } from './sqlite-file.ts';
import { withoutSqliteWarning } from './sqlite-warning.ts';

/** Records in a file, for this process alone. A commit that fails takes the file away for all who ask. */
export const openSqliteStore = async ({
  cacheBytes,
  log,
  ...file
}: SqliteFile & {
  /** Bytes of the heap for states of all kinds that were read or written lately. */
  readonly cacheBytes: number;
  readonly log: { readonly warn: (fields: object, message: string) => void };
}): Promise<OpenedStore> => {
  const { waitForSqliteRecordStore } = await withoutSqliteWarning(() => import('./sqlite-record-store.ts'));
  const watchers: Parameters<OpenedStore['watch']>[0][] = [];
  const records = await waitForSqliteRecordStore({
    ...file,
    cacheBytes,
    now: Date.now,
    onFailed: (error) => {
      for (const { failed } of watchers) failed(error);
    },
    onInUse: (problem) => log.warn({ problem }, 'waiting for the file of the store, at most 30 s'),
  });
  const copies = serveCopies(file.path, records.backup, (error) =>
    log.warn({ causes: describeCauses(error) }, 'recourse store backup cannot reach this process'),
  );
  return {
    ...{ durability: 'file', records, keysOf: records.keys, shared: null },
    watch: (watcher) => void watchers.push(watcher),
    isConnected: () => true,
    look: async () => records.look(),
    connect: async (ready) => ready(),
    close: () => {
      copies.close();
      records.close();
    },
  };
};
