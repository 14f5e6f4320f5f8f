import type { Invocation, Prepared, Tool, ToolContext } from '../tool.ts';

/** Counts the calls that run in the tools of one source. */
export type RunningCalls = {
  /** The tool, with its calls counted; the same object for the same tool. */
  readonly count: (tool: Tool) => Tool;
  /** Resolves once none runs, and after so many milliseconds at the latest. */
  readonly whenIdle: (graceMs: number) => Promise<void>;
};

export const createRunningCalls = (): RunningCalls => {
  const known = new WeakMap<Tool, Tool>();
  const waiting = new Set<() => void>();
  let running = 0;
  const end = (): void => {
    running -= 1;
    if (running === 0) for (const resolve of waiting) resolve();
  };
  const runCounted = (run: Invocation['run'], context: ToolContext): unknown => {
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
  const toCountedTool = (tool: Tool): Tool => {
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
    count: (tool) => {
      const counted = known.get(tool) ?? toCountedTool(tool);
      known.set(tool, counted);
      return counted;
    },
    whenIdle: (graceMs) => {
      if (running === 0) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, graceMs).unref();
      waiting.add(resolve);
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(resolve);
      });
    },
  };
};
