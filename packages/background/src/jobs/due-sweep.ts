import type { DueEntry, DueIndex } from './due-index.ts';

export type DueSweepOptions = {
  /** What is left to do, and when. */
  readonly live: DueIndex;
  /** Whether this process can have anything to do; else it asks the store for nothing. */
  readonly isCovered: () => boolean;
  /** Does what is due of one entry. Rejects with the store: then it is due again later. */
  readonly handle: (entry: DueEntry) => Promise<unknown>;
  /** Counts what is left, every 5 s. Rejects with the store. */
  readonly sample: () => Promise<void>;
  readonly onFailed: (error: unknown) => void;
};

/** When a process that has taken an entry and died is known to have died over it. */
export const AGAIN_MS = 15_000;
/** A tool, or a key of the store, that this process lacks another one may have. */
export const ELSEWHERE_MS = 5000;

const AT_ONCE = 20;
const LONGEST_PAUSE_MS = 1000;
const LEAST_PAUSE_MS = 25;
const SAMPLE_EVERY_MS = 5000;

/** Does what is due, whichever process has left it, until it is closed. Never rejects. */
export const createDueSweep = ({ live, isCovered, handle, sample, onFailed }: DueSweepOptions) => {
  let isClosed = false;
  let sampledAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  /** Gives the milliseconds until the next sweep. */
  const sweepOnce = async (): Promise<number> => {
    if (!isCovered()) return LONGEST_PAUSE_MS;
    if (performance.now() - sampledAt >= SAMPLE_EVERY_MS) {
      sampledAt = performance.now();
      await sample();
    }
    const { entries, nextMs } = await live.popDue(AT_ONCE, AGAIN_MS);
    await Promise.all(entries.map((entry) => handle(entry).catch(onFailed)));
    if (entries.length === AT_ONCE) return LEAST_PAUSE_MS;
    return Math.max(LEAST_PAUSE_MS, Math.min(nextMs ?? LONGEST_PAUSE_MS, LONGEST_PAUSE_MS));
  };
  const sweep = async (): Promise<void> => {
    const pauseMs = await sweepOnce().catch((error: unknown) => {
      onFailed(error);
      return LONGEST_PAUSE_MS;
    });
    if (!isClosed) timer = setTimeout(() => void sweep(), pauseMs).unref();
  };
  return {
    start: (): void => void sweep(),
    sweepOnce,
    close: (): void => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};

// Counting more would take longer than it is worth: an alert has been raised long before.
const MOST_SAMPLED = 1000;

/** What is found of the first 1,000 entries. Rejects with the store. */
export const readLive = async <Found>(
  live: Pick<DueIndex, 'list'>,
  find: (key: string) => Promise<Found | null>,
): Promise<readonly Found[]> => {
  const found: Found[] = [];
  let seen = 0;
  for await (const part of live.list()) {
    const some = part.slice(0, MOST_SAMPLED - seen);
    seen += some.length;
    found.push(...(await Promise.all(some.map(({ key }) => find(key)))).filter((one) => one !== null));
  }
  return found;
};
