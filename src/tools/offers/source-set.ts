import type { ToolOffer } from '../tool-offer.ts';
import { createRunningCalls } from './running-calls.ts';
import { createStartTurns } from './start-turns.ts';
import type { Publish, ToolSource, UpstreamState } from './tool-source.ts';

/** A source that should run. */
export type SourcePlan = {
  /** As in `UpstreamState`, unique: what is offered under it is offered by one source at a time. */
  readonly name: string;
  /** What it is made of: as long as they are the same, the source goes on. */
  readonly settings: unknown;
  readonly create: (publish: Publish) => ToolSource;
};

/** Names of sources. */
export type SourceChanges = Readonly<Record<'added' | 'changed' | 'removed', readonly string[]>>;

export type SourceSet = {
  /**
   * Runs what is planned and nothing else, from now on. What is as it was goes on; of what changed, the new source takes
   * over once it has started; what is gone offers nothing any more, and stops when its calls have ended. `started`
   * resolves when every new source has started or is known to be late, and never rejects.
   */
  readonly apply: (plans: readonly SourcePlan[]) => {
    readonly changes: SourceChanges;
    readonly started: Promise<void>;
  };
  readonly states: () => readonly UpstreamState[];
  /** Stops all at once. */
  readonly stop: () => Promise<void>;
  /** Ends the processes of all without waiting for it. */
  readonly kill: () => void;
};

export type SourceSetOptions = {
  readonly isSame: (one: unknown, other: unknown) => boolean;
  readonly publish: (source: string, offer: ToolOffer) => void;
  readonly withdraw: (source: string) => void;
  /** How long calls may go on in a source that is to stop. */
  readonly graceMs: number;
  /** How long to wait for a source to start; it goes on trying. Default 10 000. */
  readonly startMs?: number;
  /** How many sources start at once. Default 8. */
  readonly startsAtOnce?: number;
};

const START_MS = 10_000;
const STARTS_AT_ONCE = 8;
const NOTHING: ToolOffer = { tools: [], unavailable: [], outdated: new Map() };

/** A source that was started and not yet stopped. */
type Running = {
  readonly plan: SourcePlan;
  readonly source: ToolSource;
  /** What it offers reaches the board from now on. */
  readonly show: () => void;
  /** What it offers reaches nobody any more; stops when its calls have ended. */
  readonly retire: (graceMs: number) => Promise<void>;
};

export const createSourceSet = (options: SourceSetOptions): SourceSet => {
  const { isSame, withdraw, graceMs, startMs = START_MS, startsAtOnce = STARTS_AT_ONCE } = options;
  const inTurn = createStartTurns(startsAtOnce, startMs);
  /** The newest of each name, and the one before it that still serves. */
  const newest = new Map<string, Running>();
  const shown = new Map<string, Running>();
  const all = new Set<Running>();
  const end = (running: Running, withinMs: number): void => {
    void running.retire(withinMs).finally(() => all.delete(running));
  };
  const takeOver = (running: Running): void => {
    const { name } = running.plan;
    if (newest.get(name) !== running) return;
    const before = shown.get(name);
    shown.set(name, running);
    running.show();
    if (before !== undefined && before !== running) end(before, graceMs);
  };
  const begin = async (plan: SourcePlan): Promise<void> => {
    const running = createRunning(plan, options.publish);
    const pending = newest.get(plan.name);
    newest.set(plan.name, running);
    all.add(running);
    // Of two changes in a row the first may never have served.
    if (pending !== undefined && pending !== shown.get(plan.name)) end(pending, 0);
    if (!shown.has(plan.name)) takeOver(running);
    // It may be gone again before it is its turn.
    await inTurn(async () => (newest.get(plan.name) === running ? running.source.start() : undefined));
    takeOver(running);
  };
  const remove = (name: string): void => {
    const gone = new Set([newest.get(name), shown.get(name)]);
    newest.delete(name);
    shown.delete(name);
    for (const running of gone) if (running !== undefined) end(running, graceMs);
    withdraw(name);
  };
  return {
    apply: (plans) => {
      const changes = compare(newest, plans, isSame);
      const isNew = new Set([...changes.added, ...changes.changed]);
      for (const name of changes.removed) remove(name);
      const starts = plans.filter(({ name }) => isNew.has(name)).map(begin);
      return { changes, started: Promise.all(starts).then(() => undefined) };
    },
    states: () => [...newest.values()].map(({ source }) => source.state()),
    stop: async () => {
      newest.clear();
      shown.clear();
      await Promise.all([...all].map((running) => running.retire(0)));
    },
    kill: () => {
      for (const { source } of all) source.kill?.();
    },
  };
};

const compare = (
  before: ReadonlyMap<string, Running>,
  plans: readonly SourcePlan[],
  isSame: SourceSetOptions['isSame'],
): SourceChanges => {
  const planned = new Set(plans.map(({ name }) => name));
  const known = plans.filter(({ name }) => before.has(name));
  return {
    added: plans.filter(({ name }) => !before.has(name)).map(({ name }) => name),
    changed: known
      .filter(({ name, settings }) => !isSame(before.get(name)?.plan.settings, settings))
      .map(({ name }) => name),
    removed: [...before.keys()].filter((name) => !planned.has(name)),
  };
};

const createRunning = (plan: SourcePlan, publish: SourceSetOptions['publish']): Running => {
  const calls = createRunningCalls();
  const state: { place: 'behind' | 'shown' | 'retired'; offer: ToolOffer } = { place: 'behind', offer: NOTHING };
  const send = (): void => publish(plan.name, state.offer);
  const source = plan.create((offer) => {
    state.offer = { ...offer, tools: offer.tools.map(calls.count) };
    if (state.place === 'shown') send();
  });
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= source.stop();
    return stopped;
  };
  return {
    plan,
    source,
    show: () => {
      if (state.place !== 'behind') return;
      state.place = 'shown';
      send();
    },
    retire: async (graceMs) => {
      state.place = 'retired';
      if (graceMs > 0) await calls.whenIdle(graceMs);
      await stop();
    },
  };
};
