import { defineTool, z } from 'recourse-server';

const MIB = 1_048_576;
const held: unknown[] = [];

const hungry = (name: string, run: () => unknown, effects: 'read' | 'write' = 'read') =>
  defineTool({ name, description: 'Takes memory.', effects, timeoutMs: 25_000, input: z.object({}), run });

const fillHeap = (): never => {
  for (;;) held.push(Array.from({ length: 100_000 }, (_, place) => ({ place })));
};

const fillHeapInTurns = async (): Promise<never> => {
  for (;;) {
    held.push(Array.from({ length: 10_000 }, (_, place) => ({ place })));
    await null;
  }
};

/** Buffers are not of the heap, and memory that nobody has touched is not there. */
const fillBuffers = (): number => {
  for (let gigabytes = 0; gigabytes < 4; gigabytes += 1 / 16) held.push(Buffer.alloc(64 * MIB, 1));
  return held.length;
};

export const tools = [
  hungry('heap_oom', fillHeap),
  hungry('heap_oom_write', fillHeap, 'write'),
  hungry('heap_oom_in_turns', fillHeapInTurns),
  hungry('four_gigabytes_of_buffers', fillBuffers),
  hungry('parses_what_does_not_fit', () => JSON.parse(`[${'[1],'.repeat(20_000_000)}[1]]`)),
  hungry('text_too_long', () => 'x'.repeat(2 ** 29).repeat(8)),
  hungry('keeps_buffers', () => held.push(Buffer.alloc(270 * MIB, 1))),
  hungry('counts_what_it_keeps', () => held.length),
];
