import * as z from 'zod';
import type { SlotRequest } from '#src/executor/call-slots.ts';
import { SlotQueue, type SlotQueueOptions } from '#src/queue/slot-queue.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { HostedTool, Tool } from '#src/tools/tool.ts';

type Limits = { readonly concurrency?: number; readonly timeoutMs?: number };

const define = (name: string, limits: Limits) =>
  defineTool({ ...limits, name, description: 'Never run.', effects: 'read', input: z.object({}), run: () => null });

/** A tool that exists for the slots only: nothing ever runs it. */
export const inlineTool = (name: string, concurrency?: number, timeoutMs = 30_000): Tool =>
  define(name, { timeoutMs, ...(concurrency === undefined ? {} : { concurrency }) });

export const hostedTool = (name: string, concurrency?: number): HostedTool => {
  const inline = define(name, concurrency === undefined ? {} : { concurrency });
  const { prepare: _prepare, checkOutput: _checkOutput, extractError: _extractError, ...facts } = inline;
  return { ...facts, runsIn: 'host', file: { path: `/tools/${name}.ts`, root: '/tools', sources: new Map() } };
};

export type SlotLab = {
  readonly slots: SlotQueue;
  /** What became of each call that had to wait, in the order in which it became of it: `a1 taken`, `a2 queue_full`. */
  readonly story: string[];
  /** The times told to those that were dropped. */
  readonly retryAfterMs: number[];
  /** Takes a slot, or waits for one under this name; gives the way to stop waiting. */
  readonly want: (name: string, tool: Tool, caller: string, terms?: Partial<SlotRequest>) => () => void;
  readonly release: (tool: Tool, caller: string) => void;
  readonly now: () => number;
  readonly advance: (ms: number) => void;
  /** The event loop is busy for so long. */
  readonly compute: (ms: number) => void;
  /** The turn of the event loop is over. */
  readonly endTurn: () => void;
};

export const tellNow = (tell: () => void): (() => void) => {
  tell();
  return () => undefined;
};

/** Slots with a clock that only the test moves. */
export const createSlotLab = (options: Partial<SlotQueueOptions> = {}): SlotLab => {
  let moment = 0;
  let busy = 0;
  const turns: (() => void)[] = [];
  const slots = new SlotQueue({
    maxConcurrentCalls: 100,
    callerConcurrency: 100,
    toolConcurrency: 100,
    maxHostedCalls: 100,
    maxQueuedCalls: 100,
    now: () => moment,
    busyMs: () => busy,
    afterSlice: (listener) => turns.push(listener),
    pace: { tell: tellNow, tellAll: () => undefined },
    ...options,
  });
  const story: string[] = [];
  const retryAfterMs: number[] = [];
  return {
    slots,
    story,
    retryAfterMs,
    want: (name, tool, caller, terms = {}) => {
      if (slots.tryTake(tool, caller)) return () => undefined;
      return slots.wait({
        tool,
        caller,
        endsAt: moment + 60_000,
        timeoutMs: 30_000,
        acquired: () => story.push(`${name} taken`),
        dropped: (drop) => {
          story.push(`${name} ${drop.reason}`);
          retryAfterMs.push(drop.retryAfterMs);
        },
        ...terms,
      });
    },
    release: (tool, caller) => {
      slots.answered(caller);
      slots.ended(tool);
    },
    now: () => moment,
    advance: (ms) => {
      moment += ms;
    },
    compute: (ms) => {
      moment += ms;
      busy += ms;
    },
    endTurn: () => {
      for (const listener of turns.splice(0)) listener();
    },
  };
};
