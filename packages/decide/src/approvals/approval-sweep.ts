import { approvalIdOf } from './approval-kind.ts';
import { type ApprovalStore, entryOf, type OpenApproval, pointerKeyOf } from './approval-store.ts';

export type SweepOptions = {
  readonly store: ApprovalStore;
  /** Has the pending call ask how it was decided; `gone`: it is not there. Rejects with the store. */
  readonly releasePending: (tenant: string, handle: string) => Promise<'told' | 'gone'>;
  readonly onExpired: (found: OpenApproval) => void;
  readonly onFailed: (error: unknown) => void;
  /** Whether any call may have to be approved, or had to since the start; left out: always. */
  readonly isCovered?: () => boolean;
  /** Left out: nobody counts. */
  readonly sampled?: (sample: WaitingSample) => void;
};

/** What waits now, and how many of it for more than half of its time. */
export type WaitingSample = { readonly waiting: number; readonly pastHalf: number; readonly oldestMs: number };

const AT_ONCE = 20;
const AGAIN_MS = 15_000;
// A key of the store that this process lacks another one may have.
const ELSEWHERE_MS = 5000;
// Its call may be about to be accepted.
const GONE_AGAIN_MS = 1000;
const LONGEST_PAUSE_MS = 1000;
const LEAST_PAUSE_MS = 25;

/** Tells those who wait for approvals that these are decided, or over. */
export const createApprovalSweep = (options: SweepOptions) => {
  const { store, onFailed, isCovered = () => true } = options;
  let isClosed = false;
  let sampledAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  /** Gives the milliseconds until the next sweep. */
  const sweepOnce = async (): Promise<number> => {
    // Most services ask nobody: they ask no store for it either.
    if (!isCovered()) return LONGEST_PAUSE_MS;
    if (performance.now() - sampledAt >= SAMPLE_EVERY_MS) {
      sampledAt = performance.now();
      await sample(options);
    }
    const { entries, nextMs } = await store.live.popDue(AT_ONCE, AGAIN_MS);
    await Promise.all(entries.map(({ key }) => release(key, options).catch(onFailed)));
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
    /** Tells who waits for one that it is decided, or over. Rejects with the store: then a sweep does it. */
    release: (key: string): Promise<void> => release(key, options),
    close: (): void => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};

const SAMPLE_EVERY_MS = 5000;
// Counting more would take longer than it is worth: an alert has been raised long before.
const MOST_SAMPLED = 1000;

const sample = async ({ store, sampled }: SweepOptions): Promise<void> => {
  if (sampled === undefined) return;
  const waited: { readonly ms: number; readonly ofMs: number }[] = [];
  let seen = 0;
  for await (const part of store.live.list()) {
    const read = await Promise.all(part.slice(0, MOST_SAMPLED - seen).map(({ key }) => store.find(key)));
    seen += read.length;
    for (const found of read) {
      if (found?.approval.state !== 'waiting') continue;
      const { expiresMs } = found.approval;
      waited.push({ ms: Math.max(0, expiresMs - store.leftMs(found.approval)), ofMs: expiresMs });
    }
  }
  const pastHalf = waited.filter(({ ms, ofMs }) => ms > ofMs / 2).length;
  sampled({ waiting: waited.length, pastHalf, oldestMs: Math.max(0, ...waited.map(({ ms }) => ms)) });
};

const release = async (key: string, options: SweepOptions): Promise<void> => {
  const { store } = options;
  const now = await store.refresh(key);
  if (now === null || now.isReleased) {
    await store.live.leave(entryOf(key));
    return;
  }
  const found = await store.find(key);
  const againMs = found === null ? ELSEWHERE_MS : await releaseFound(found, options);
  if (againMs !== null) await store.live.enterAgain(entryOf(key), againMs);
};

/** Gives the milliseconds until it is to be looked at again; null: not at all. */
const releaseFound = async (found: OpenApproval, options: SweepOptions): Promise<number | null> => {
  const { store, releasePending, onExpired } = options;
  const { key, approval, spec } = found;
  const { state } = approval;
  if (state === 'waiting') return store.leftMs(approval);
  const { tenant, handle } = spec;
  // The same call is denied, too, where it asks no pending one.
  if (handle !== null && state === 'denied')
    await store.redirect(pointerKeyOf(spec, spec.digest), approvalIdOf(key), approval.expiresMs);
  const told = handle === null ? 'told' : await releasePending(tenant, handle);
  if (told === 'gone' && state === 'granted') return GONE_AGAIN_MS;
  if ((await store.markReleased(key)) && state === 'expired') onExpired(found);
  return null;
};
