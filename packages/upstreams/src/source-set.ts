import { setTimeout as afterMs } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { SourcePlan, SourceState, ToolSource, UpstreamState } from 'recourse-server/extensions/source';
import { type Invocation, type Prepared, type Tool, type ToolContext, UNSTATED } from 'recourse-server/tools/tool';
import type { ToolOffer } from 'recourse-server/tools/tool-offer';

/** Names of sources. */
export type SourceChanges = Readonly<Record<'added' | 'changed' | 'removed', readonly string[]>>;

type SourceSetOptions = {
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
  /** From now on what it offers is published. */
  readonly show: () => void;
  /** From now on nothing of it is published; stops when its calls have ended. */
  readonly retire: (graceMs: number) => Promise<void>;
};

/** Owns the sources that run: of each name the newest, and the one before it as long as that still serves. */
export const createSourceSet = (options: SourceSetOptions) => {
  const { publish, withdraw, graceMs, startMs = START_MS, startsAtOnce = STARTS_AT_ONCE } = options;
  const runInQueue = createStartQueue(startsAtOnce, startMs);
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
    const running = createRunning(plan, publish);
    const pending = newest.get(plan.name);
    newest.set(plan.name, running);
    all.add(running);
    // Of two changes in a row the first may never have served.
    if (pending !== undefined && pending !== shown.get(plan.name)) end(pending, 0);
    if (!shown.has(plan.name)) takeOver(running);
    // It may be gone again before it is its turn.
    await runInQueue(async () => (newest.get(plan.name) === running ? running.source.start() : undefined));
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
    /**
     * Runs what is planned and nothing else, from now on. What is as it was goes on; of what changed, the new source takes
     * over once it has started; what is gone offers nothing any more, and stops when its calls have ended. `started`
     * resolves when every new source has started or is known to be late, and never rejects.
     */
    apply: (plans: readonly SourcePlan[]): { readonly changes: SourceChanges; readonly started: Promise<unknown> } => {
      const planned = new Set(plans.map(({ name }) => name));
      const added = plans.filter(({ name }) => !newest.has(name));
      const changed = plans.filter((plan) => {
        const before = newest.get(plan.name);
        return before !== undefined && !isDeepStrictEqual(before.plan.settings, plan.settings);
      });
      const removed = [...newest.keys()].filter((name) => !planned.has(name));
      for (const name of removed) remove(name);
      const fresh = new Set([...added, ...changed]);
      const starts = plans.filter((plan) => fresh.has(plan)).map(begin);
      const namesOf = (some: readonly SourcePlan[]): readonly string[] => some.map(({ name }) => name);
      return {
        changes: { added: namesOf(added), changed: namesOf(changed), removed },
        started: Promise.all(starts),
      };
    },
    states: (): readonly SourceState[] =>
      [...newest.values()].map(({ source, plan }) => ({ ...source.state(), prefix: plan.prefix })),
    /** Stops all at once. */
    stop: async (): Promise<void> => {
      newest.clear();
      shown.clear();
      await Promise.all([...all].map((running) => running.retire(0)));
    },
    /** Ends the processes of all without waiting for it. */
    kill: (): void => {
      for (const { source } of all) source.kill?.();
    },
  };
};

const createRunning = (plan: SourcePlan, publish: SourceSetOptions['publish']): Running => {
  const calls = createRunningCalls(plan.name);
  const state: { place: 'behind' | 'shown' | 'retired'; offer: ToolOffer } = { place: 'behind', offer: NOTHING };
  const source = guardSource(
    plan,
    plan.create((offer) => {
      const tools = offer.tools.map(calls.count);
      state.offer = { ...NOTHING, ...offer, tools };
      if (state.place === 'shown') publish(plan.name, state.offer);
    }),
  );
  let stopped: Promise<void> | null = null;
  return {
    plan,
    source,
    show: () => {
      if (state.place !== 'behind') return;
      state.place = 'shown';
      publish(plan.name, state.offer);
    },
    retire: async (graceMs) => {
      state.place = 'retired';
      if (graceMs > 0) await calls.whenIdle(graceMs);
      stopped ??= source.stop();
      await stopped;
    },
  };
};

const withSource = (tool: Tool, name: string): Tool =>
  tool.source === UNSTATED.source ? { ...tool, source: name } : tool;

/** The source of an extension, whose author may have let it throw: then it is down, and the others go on. */
const guardSource = ({ name }: SourcePlan, source: ToolSource): ToolSource => {
  let failed: string | null = null;
  const fail = (error: unknown): void => {
    failed = error instanceof Error ? error.message : String(error);
  };
  const describeDown = (reason: string): UpstreamState => ({ name, status: 'down', reason, tools: 0, reconnects: 0 });
  return {
    kill: () => source.kill?.(),
    start: () => source.start().catch(fail),
    stop: () => source.stop().catch(fail),
    state: () => {
      if (failed !== null) return describeDown(failed);
      try {
        return source.state();
      } catch (error) {
        return describeDown(error instanceof Error ? error.message : String(error));
      }
    },
  };
};

/** Counts the calls that run in the tools of one source, and names it in those that name none. */
const createRunningCalls = (name: string) => {
  const counted = new WeakMap<Tool, Tool>();
  let idle = Promise.withResolvers<void>();
  let running = 0;
  const end = (): void => {
    running -= 1;
    if (running === 0) idle.resolve();
  };
  const runCounted = (run: Invocation['run'], context: ToolContext): unknown => {
    if (running === 0) idle = Promise.withResolvers();
    running += 1;
    let isOpen = false;
    try {
      const answer = run(context);
      if (!(answer instanceof Promise)) return answer;
      isOpen = true;
      return answer.finally(end);
    } finally {
      if (!isOpen) end();
    }
  };
  const countPrepared = (prepared: Prepared): Prepared => {
    if (!prepared.ok) return prepared;
    const { run } = prepared.invocation;
    return { ok: true, invocation: { run: (context) => runCounted(run, context) } };
  };
  const countCalls = (tool: Tool): Tool => {
    if (tool.runsIn === 'host') return tool;
    return {
      ...tool,
      prepare: (input) => {
        const prepared = tool.prepare(input);
        return prepared instanceof Promise ? prepared.then(countPrepared) : countPrepared(prepared);
      },
    };
  };
  return {
    /** The tool, with its calls counted; the same object for the same tool. */
    count: (tool: Tool): Tool => {
      const same = counted.get(tool) ?? countCalls(withSource(tool, name));
      counted.set(tool, same);
      return same;
    },
    /** Resolves once no call runs, and after so many milliseconds at the latest. */
    whenIdle: async (graceMs: number): Promise<void> => {
      if (running > 0) await within(graceMs, idle.promise);
    },
  };
};

/**
 * Lets so many starts go on at once. Resolves when a start has ended, however it ended, or when it has taken so long; then
 * it goes on, and the next one begins.
 */
const createStartQueue = (atOnce: number, patienceMs: number) => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (start: () => Promise<void>): Promise<void> => {
    if (running < atOnce) running += 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    await within(patienceMs, start());
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
};

/** Resolves when the work has ended, however it ended, and after so many milliseconds at the latest. */
const within = async (ms: number, work: Promise<void>): Promise<void> => {
  const done = new AbortController();
  const limit = afterMs(ms, undefined, { signal: done.signal, ref: false });
  await Promise.allSettled([Promise.race([work, limit])]);
  done.abort();
  await Promise.allSettled([limit]);
};
