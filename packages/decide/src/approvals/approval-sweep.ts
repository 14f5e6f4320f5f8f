import { createDueSweep, ELSEWHERE_MS, readLive } from '@recourse/background/jobs/due-sweep';
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

// Its call may be about to be accepted.
const GONE_AGAIN_MS = 1000;

/** Tells those who wait for approvals that these are decided, or over. */
export const createApprovalSweep = (options: SweepOptions) => {
  const { store, onFailed, isCovered = () => true } = options;
  const sweep = createDueSweep({
    live: store.live,
    isCovered,
    handle: ({ key }) => release(key, options),
    sample: () => sample(options),
    onFailed,
  });
  return {
    ...sweep,
    /** Tells who waits for one that it is decided, or over. Rejects with the store: then a sweep does it. */
    release: (key: string): Promise<void> => release(key, options),
  };
};

const sample = async ({ store, sampled }: SweepOptions): Promise<void> => {
  if (sampled === undefined) return;
  const waited = (await readLive(store.live, (key) => store.find(key)))
    .filter(({ approval }) => approval.state === 'waiting')
    .map(({ approval }) => ({
      ms: Math.max(0, approval.expiresMs - store.leftMs(approval)),
      ofMs: approval.expiresMs,
    }));
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
