import type { Tool } from '../../tools/tool.ts';
import { toHiding } from './arguments-preview.ts';
import { type JournalCall, PLAIN_SUCCESS } from './journal-line.ts';

/** What lines tell of each call of a tool that went well, beside its arguments and its time. */
export type PlainTool = Pick<JournalCall, 'kind' | 'tool' | 'readable' | 'hiding' | 'end'>;

/**
 * The calls of a round that were all read, ran and went well, from its first entry to its last: all but every round. A call
 * takes a number and a reference, where a record of its own would take five times as much for as long as the journal lives.
 */
export class PlainCalls {
  readonly #tools: PlainTool[] = [];
  readonly #durations: number[] = [];

  add(tool: PlainTool, durationMs: number): void {
    this.#tools.push(tool);
    this.#durations.push(durationMs);
  }

  get length(): number {
    return this.#tools.length;
  }

  toList(): readonly JournalCall[] {
    return this.#tools.map((tool, index) => ({ ...tool, index, durationMs: this.#durations[index] ?? 0 }));
  }
}

const known = new WeakMap<Tool, PlainTool>();

/** One record for all calls of a tool. */
export const toPlainTool = (tool: Tool): PlainTool => {
  const plain = known.get(tool);
  if (plain !== undefined) return plain;
  const made: PlainTool = {
    kind: 'ready',
    tool: tool.name,
    readable: true,
    hiding: toHiding(tool.inputSchema),
    end: PLAIN_SUCCESS,
  };
  known.set(tool, made);
  return made;
};
