import type { Tool } from '../tools/tool.ts';

/** Slots of the tools that allow only so many calls at once in this process. */
export type ToolSlots = {
  /** Takes a slot now and gives true, or false where none is free. Tools without a limit always have one. */
  readonly tryTake: (tool: Tool) => boolean;
  /** Calls back once when a slot of the tool has been taken for the caller; gives the way to stop waiting. */
  readonly whenTaken: (tool: Tool, taken: () => void) => () => void;
  readonly giveBack: (tool: Tool) => void;
};

type Queue = { taken: number; readonly waiting: Set<() => void> };

export const createToolSlots = (): ToolSlots => {
  const queues = new Map<string, Queue>();
  const queueOf = (tool: Tool): Queue => {
    const known = queues.get(tool.name);
    if (known !== undefined) return known;
    const queue: Queue = { taken: 0, waiting: new Set() };
    queues.set(tool.name, queue);
    return queue;
  };
  return {
    tryTake: (tool) => {
      if (tool.concurrency === null) return true;
      const queue = queueOf(tool);
      if (queue.taken >= tool.concurrency) return false;
      queue.taken += 1;
      return true;
    },
    whenTaken: (tool, taken) => {
      const { waiting } = queueOf(tool);
      waiting.add(taken);
      return () => waiting.delete(taken);
    },
    giveBack: (tool) => {
      if (tool.concurrency === null) return;
      const queue = queueOf(tool);
      const [next] = queue.waiting;
      if (next === undefined) {
        queue.taken -= 1;
        return;
      }
      queue.waiting.delete(next);
      next();
    },
  };
};
