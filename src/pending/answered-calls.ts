import * as z from 'zod';
import type { PendingCall, RenderedResult } from '../contract/tool-result.ts';
import type { CallState } from '../executor/pending-calls.ts';
import { LOST_END, renderPending } from '../executor/pending-result.ts';
import { toEndedResult } from '../executor/render-result.ts';
import { toCallKey } from '../sessions/calls/call-kind.ts';
import { createWatchAnsweredParts, type WatchAnsweredParts } from './answered-parts.ts';
import type { PendingService } from './pending-service.ts';

/** How long a reading waits, in milliseconds, and for which ends; it waits no longer once `over` resolves. */
export type ResultsWait = {
  readonly waitMs: number;
  readonly until: 'all' | 'any';
  readonly over: Promise<void>;
};

/** Results as they are now. `pending` as long as any of them is; left out where none ever was. */
export type ResultsNow = {
  readonly results: readonly RenderedResult[];
  readonly status?: 'pending' | 'done';
  /** Those of them that were answered as pending, and are the results of ends now. */
  readonly late: readonly RenderedResult[];
};

/** Results that were answered before, some of them as pending. Everything rejects with the store. */
export type AnsweredCalls = {
  /** The same results as they are now, or after a wait. */
  readonly read: (tenant: string, answered: readonly RenderedResult[], wait: ResultsWait | null) => Promise<ResultsNow>;
  /** Ends those that are pending where that does no harm, or in any case. */
  readonly cancel: (tenant: string, answered: readonly RenderedResult[], how: 'asked' | 'forced') => Promise<void>;
  /**
   * Tells of those that are pending until all have ended, or `over` resolves: how far each is, and each result once. Resolves
   * with all results as they are then.
   */
  readonly follow: (
    tenant: string,
    answered: readonly RenderedResult[],
    listener: AnsweredListener,
    over: Promise<void>,
  ) => Promise<readonly RenderedResult[]>;
  /** Tells what handlers show from now on, of the calls that it is given. */
  readonly watchParts: WatchAnsweredParts;
};

export type AnsweredListener = {
  readonly result: (index: number, result: RenderedResult) => void;
  readonly progress: (index: number, progress: NonNullable<PendingCall['progress']>) => void;
};

export const createAnsweredCalls = ({
  service,
  time,
}: {
  readonly service: Pick<PendingService, 'stateOf' | 'cancel' | 'waiters' | 'watchParts'>;
  /** Unix milliseconds. */
  readonly time: () => number;
}): AnsweredCalls => {
  const { stateOf, cancel } = service;
  const readOne = async (tenant: string, answered: RenderedResult): Promise<ResultNow> => {
    const { handle } = answered;
    if (handle === null) return { result: answered, state: 'answered' };
    return toResultNow(answered, await stateOf(tenant, handle, 0), time());
  };
  return {
    read: async (tenant, answered, wait) => {
      const handles = toHandles(answered);
      if (wait !== null && handles.length > 0)
        await waitForAny(handles, wait, (handle, enough) => stateOf(tenant, handle, wait.waitMs, enough));
      if (handles.length === 0) return { results: answered, late: [] };
      const now = await Promise.all(answered.map((result) => readOne(tenant, result)));
      return {
        results: now.map(({ result }) => result),
        status: now.some(({ state }) => state === 'pending') ? 'pending' : 'done',
        late: now.filter(({ state }) => state === 'late').map(({ result }) => result),
      };
    },
    follow: async (tenant, answered, listener, over) => {
      const ends = answered.map((result, index) => followOne(result, { tenant, service, time }, index, listener));
      await Promise.race([Promise.all(ends.map(({ ended }) => ended)), over]);
      for (const { stop } of ends) stop();
      const now = await Promise.all(answered.map((result) => readOne(tenant, result)));
      return now.map(({ result }) => result);
    },
    watchParts: createWatchAnsweredParts(service),
    cancel: async (tenant, answered, how) => {
      await Promise.all(toHandles(answered).map((handle) => cancel(tenant, handle, how)));
    },
  };
};

type Following = {
  readonly tenant: string;
  readonly service: Pick<PendingService, 'stateOf' | 'waiters'>;
  readonly time: () => number;
};

const NOT_PENDING = { ended: Promise.resolve(), stop: (): void => undefined };

/** Looks at a call whenever something has happened to it. What the store cannot tell now it tells later. */
const followOne = (
  answered: RenderedResult,
  { tenant, service, time }: Following,
  index: number,
  listener: AnsweredListener,
): { readonly ended: Promise<void>; readonly stop: () => void } => {
  const { handle } = answered;
  if (handle === null) return NOT_PENDING;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let shown = '';
  let isOver = false;
  const tell = (state: CallState | null): void => {
    if (isOver) return;
    if (state?.kind !== 'pending') {
      isOver = true;
      listener.result(index, toResultNow(answered, state, time()).result);
      resolve();
      return;
    }
    const { progress } = state.pending;
    const text = JSON.stringify(progress);
    if (progress === null || text === shown) return;
    shown = text;
    listener.progress(index, progress);
  };
  const look = (): void =>
    void service.stateOf(tenant, handle, 0).then(
      // Parts are on another connection: those that Redis sent before this answer are read first.
      (state) => (state?.kind === 'pending' ? tell(state) : setImmediate(tell, state)),
      () => undefined,
    );
  const stop = service.waiters.onChange(toCallKey(tenant, handle), look);
  look();
  return { ended, stop };
};

const waitForAny = async (
  handles: readonly string[],
  { until, over }: ResultsWait,
  waitOne: (handle: string, enough: Promise<void>) => Promise<CallState | null>,
): Promise<void> => {
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const ends = handles.map((handle) => waitOne(handle, enough));
  try {
    await Promise.race([until === 'all' ? Promise.all(ends) : firstEnded(ends), over]);
  } finally {
    // Who has gone, or has got what it waited for, takes no more room among those that wait.
    resolve();
  }
};

const toHandles = (answered: readonly RenderedResult[]): readonly string[] =>
  answered.map(({ handle }) => handle).filter((handle) => handle !== null);

/** `answered`: it was no pending one when its batch was answered. */
type ResultNow = { readonly result: RenderedResult; readonly state: 'answered' | 'pending' | 'late' };

const toResultNow = ({ json }: RenderedResult, state: CallState | null, now: number): ResultNow => {
  const head = Head.parse(JSON.parse(json));
  if (state === null) return { result: toEndedResult(toLost(json)), state: 'late' };
  if (state.kind === 'ended') return { result: toEndedResult(withHead(state.result, head)), state: 'late' };
  return { result: renderPending(head, state.pending, { isReplay: false, now }), state: 'pending' };
};

const Head = z.object({
  index: z.int(),
  id: z.union([z.string(), z.number(), z.null()]),
  name: z.string().nullable(),
});

/** The result of a call's end under the place and the name that it was answered by: another batch may have accepted it. */
const withHead = (ended: string, head: z.infer<typeof Head>): string => {
  const own = Head.parse(JSON.parse(ended));
  return own.index === head.index && own.id === head.id && own.name === head.name
    ? ended
    : JSON.stringify({ ...JSON.parse(ended), ...head, replayed: true });
};

const toLost = (answered: string): string => {
  const { pending: _gone, ...rest } = JSON.parse(answered);
  return JSON.stringify({ ...rest, ...LOST_END });
};

/** Resolves with the first call that has ended, or when all waits are over. */
const firstEnded = async (waits: readonly Promise<CallState | null>[]): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  for (const wait of waits)
    wait.then((state) => {
      if (state?.kind !== 'pending') resolve();
    }, reject);
  void Promise.allSettled(waits).then(() => resolve());
  await promise;
};
