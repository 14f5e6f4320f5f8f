import type { RenderedResult } from 'recourse-server/contract/tool-result';
import { toWhole } from 'recourse-server/executor/idempotency-store';
import type { CallPlace, PendingState } from 'recourse-server/executor/pending-calls';
import { renderPending } from 'recourse-server/executor/pending-result';
import { toEndedResult } from 'recourse-server/executor/render-result';
import type { AnsweredCalls, AnsweredListener, PartsReading, ResultsWait } from 'recourse-server/routes/answered-calls';
import * as z from 'zod';
import { toCallKey } from './calls/call-kind.ts';
import type { PartsWatch } from './calls/call-signals.ts';
import { LOST_END, renderLostResult } from './lost-results.ts';
import type { PendingService } from './pending-service.ts';

type Service = Pick<PendingService, 'describe' | 'stateOf' | 'cancel' | 'waiters' | 'watchParts'>;

/** `time`: the store's, in Unix milliseconds. */
export const createAnsweredCalls = ({ service, time }: Pick<Following, 'service' | 'time'>): AnsweredCalls => {
  const readOne = async (tenant: string, answered: RenderedResult): Promise<ResultNow> => {
    const { handle } = answered;
    if (handle === null) return { result: answered, state: 'answered' };
    return renderNow(answered, await service.stateOf(tenant, handle, 0), time());
  };
  const readAll = (tenant: string, answered: readonly RenderedResult[]): Promise<readonly ResultNow[]> =>
    Promise.all(answered.map((result) => readOne(tenant, result)));
  /** What a call of the batch comes to whose result was not kept: that of the call which it has accepted in that place; null: it has none. */
  const readPlace = async (tenant: string, place: CallPlace): Promise<string | null> => {
    const known = await service.describe(tenant, place);
    if (known === null) return null;
    const { spec, state } = known;
    if (state.kind === 'ended') return state.result;
    return renderPending(spec, state.pending, { isReplay: false, now: time() }).json;
  };
  return {
    complete: async (tenant, found) => {
      const whole = toWhole(found);
      if (whole !== null) return whole;
      const { recordKey, results, isOpen } = found;
      const places = await Promise.all(
        results.map(async (result, index) => (result === null ? readPlace(tenant, { recordKey, place: index }) : null)),
      );
      const known = results.map((result, index) => result ?? places[index] ?? null);
      if (places.every((place) => place === null) || (isOpen && known.includes(null))) return null;
      return known.map((result, index) => result ?? renderLostResult({ index, id: null, name: null }));
    },
    read: async (tenant, { results: answered, isPromised }, wait) => {
      const handles = pickHandles(answered);
      // Its calls may have ended before its answer was kept, as pending or not: the body of their ends is the same.
      if (handles.length === 0) return { results: answered, ...(isPromised ? { status: 'done' } : {}), late: [] };
      if (wait !== null)
        await waitForEnds(handles, wait, (handle, enough) => service.stateOf(tenant, handle, wait.waitMs, enough));
      const now = await readAll(tenant, answered);
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
      return (await readAll(tenant, answered)).map(({ result }) => result);
    },
    watchParts: (tenant, listener) =>
      watchEach((index, handle) => service.watchParts(tenant, handle, (valueJson) => listener(index, valueJson))),
    cancel: async (tenant, answered, how) => {
      await Promise.all(pickHandles(answered).map((handle) => service.cancel(tenant, handle, how)));
    },
  };
};

/** The parts of the calls of one batch: each call once, under the index that it was first named by. */
const watchEach = (start: (index: number, handle: string) => PartsWatch): PartsReading => {
  const watches = new Map<string, PartsWatch>();
  let isOver = false;
  const watch = async (index: number, handle: string): Promise<void> => {
    if (isOver || watches.has(handle)) return;
    const started = start(index, handle);
    watches.set(handle, started);
    await started.ready;
  };
  return {
    watch,
    watchResults: (results) => {
      for (const [index, { handle }] of results.entries()) if (handle !== null) void watch(index, handle);
    },
    stop: () => {
      isOver = true;
      for (const { stop } of watches.values()) stop();
    },
  };
};

type Following = {
  readonly tenant: string;
  readonly service: Service;
  readonly time: () => number;
};

/**
 * Looks at a call whenever something has happened to it, until it has ended. What the store cannot tell now it tells later.
 * `stop`: ends that before.
 */
const followOne = (
  answered: RenderedResult,
  { tenant, service, time }: Following,
  index: number,
  listener: AnsweredListener,
): { readonly ended: Promise<void>; readonly stop: () => void } => {
  const { handle } = answered;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  if (handle === null) {
    resolve();
    return { ended, stop: resolve };
  }
  let shown = 'null';
  let isOver = false;
  const show = (state: PendingState | null): void => {
    if (isOver) return;
    if (state?.kind !== 'pending') {
      isOver = true;
      listener.result(index, renderNow(answered, state, time()).result);
      resolve();
      return;
    }
    const { progress } = state.pending;
    const text = JSON.stringify(progress);
    if (progress !== null && text !== shown) listener.progress(index, progress);
    shown = text;
  };
  const look = (): void =>
    void service.stateOf(tenant, handle, 0).then(
      // Parts are on another connection: those that Redis sent before this answer are read first.
      (state) => (state?.kind === 'pending' ? show(state) : setImmediate(show, state)),
      () => undefined,
    );
  const stop = service.waiters.onChange(toCallKey(tenant, handle), look);
  look();
  return { ended, stop };
};

const waitForEnds = async (
  handles: readonly string[],
  { until, over }: ResultsWait,
  waitOne: (handle: string, enough: Promise<void>) => Promise<PendingState | null>,
): Promise<void> => {
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const ends = handles.map(async (handle) => {
    const state = await waitOne(handle, enough);
    if (until === 'any' && state?.kind !== 'pending') resolve();
  });
  try {
    await Promise.race([Promise.all(ends), enough, over]);
  } finally {
    // Who has gone, or has got what it waited for, takes no more room among those that wait.
    resolve();
  }
};

const pickHandles = (answered: readonly RenderedResult[]): readonly string[] =>
  answered.map(({ handle }) => handle).filter((handle) => handle !== null);

/** `answered`: it was no pending one when its batch was answered. */
type ResultNow = { readonly result: RenderedResult; readonly state: 'answered' | 'pending' | 'late' };

const renderNow = ({ json }: RenderedResult, state: PendingState | null, now: number): ResultNow => {
  const head = Head.parse(JSON.parse(json));
  if (state === null) return { result: toEndedResult(markLost(json)), state: 'late' };
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
  const own = Head.safeParse(JSON.parse(ended)).data;
  return own?.index === head.index && own.id === head.id && own.name === head.name
    ? ended
    : JSON.stringify({ ...JSON.parse(ended), ...head, replayed: true });
};

const markLost = (answered: string): string => {
  const { pending: _gone, ...rest } = JSON.parse(answered);
  return JSON.stringify({ ...rest, ...LOST_END });
};
