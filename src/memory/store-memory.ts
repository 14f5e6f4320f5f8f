import { BoundedStore, type BoundedStoreOptions, type StoreUse } from './bounded-store.ts';

/**
 * The stores of this process and what each may take, in percent of what all may take together. What can be lost and is
 * dear has most: a journal takes more than its session, a result more than its mark.
 */
const STORES = [
  // Budgets, streaks and limits: 2 to 3 kB a session whose rounds had ten calls.
  ['sessions', 30],
  // 200 to 1,000 bytes a call. A session that loses its journal keeps its budgets.
  ['journals', 28],
  // Of keyed batches. A record that loses its results keeps its marks.
  ['results', 12],
  // Which keyed calls ran: the last to go.
  ['marks', 8],
  // Records that batches hold now. Few, but a flood of them must not push out the marks.
  ['leases', 6],
  // Under which request id a keyed batch was answered.
  ['answers', 4],
  // Results of calls that outlived their requests.
  ['pending', 2],
  // Lists for people on call, up to 2 MB a tenant: their rings are bounded by themselves.
  ['oncall', 2],
  ['pages', 3],
  // Sessions of `/mcp` that clients have ended. Forgotten, one begins anew.
  ['ended_sessions', 0.5],
  // Messages for webhook endpoints, about 1 kB each: all of them without Redis, with it those of an outage.
  ['webhooks', 1],
  // At 1 GiB some 3 000 callers in their windows, in bytes of the process; Redis counts without this.
  ['rates', 2],
  // Callers that are over their rate: forgotten, one costs a count.
  ['blocked', 0.5],
  // Only of what has failed lately.
  ['circuits', 1],
] as const;
const PERCENT: ReadonlyMap<string, number> = new Map(STORES);

export type StoreName = (typeof STORES)[number][0];
export const STORE_NAMES: readonly StoreName[] = STORES.map(([name]) => name);

/** What the setting says, at most this part of the heap, and that where it is unset. */
const limitToHeap =
  (part: number) =>
  (heapLimitBytes: number, settingMb: number | undefined): number =>
    Math.min(Math.floor(heapLimitBytes * part), (settingMb ?? Number.POSITIVE_INFINITY) * 1024 * 1024);

/**
 * How many bytes all stores may take: at most 35 % of the heap. The rest of it is the service itself (some 80 MB), batches in flight, and
 * room for the collector of garbage: measured at a heap of 512 MB, at a half of it collections follow each other.
 */
export const toStoreBytes = limitToHeap(0.35);

/**
 * How many bytes requests, their answers, streams and pending calls may take: at most 20 % of the heap. Measured at heaps of 256 and
 * 512 MB, filled with bodies, arguments and pending calls: the heap stays under 90 %.
 */
export const toRequestBytes = limitToHeap(0.2);

/** Opens the stores of this process, each with its part of the memory. */
export type StoreMemory = ReturnType<typeof createStoreMemory>;

/** Divides `totalBytes` among the stores; `watch` gets each that is opened. */
export const createStoreMemory = ({
  totalBytes,
  watch = () => undefined,
}: {
  readonly totalBytes: number;
  readonly watch?: (name: StoreName, use: StoreUse) => void;
}) => {
  /** What the store of this name may take, in bytes. */
  const limitOf = (name: StoreName): number => Math.floor((totalBytes * (PERCENT.get(name) ?? 0)) / 100);
  return {
    /** What all stores may take together. */
    totalBytes,
    limitOf,
    open: <Value>(name: StoreName, options: Omit<BoundedStoreOptions<Value>, 'limitBytes'>): BoundedStore<Value> => {
      const store = new BoundedStore({ ...options, limitBytes: limitOf(name) });
      watch(name, store);
      return store;
    },
  };
};
