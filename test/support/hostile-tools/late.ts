import { EventEmitter } from 'node:events';
import { writeSync } from 'node:fs';
import { defineTool, z } from 'recourse-server';

const LATER_MS = 20;

const late = (name: string, act: () => unknown) =>
  defineTool({
    name,
    description: 'Answers, and does something else after that.',
    effects: 'read',
    input: z.object({}),
    run: () => {
      setTimeout(act, LATER_MS);
      return 'answered';
    },
  });

const fail = (text: string): never => {
  throw new Error(text);
};

const emitter = new EventEmitter();

export const tools = [
  late('throws_late', () => fail('thrown after the answer')),
  late('rejects_late', () => void Promise.reject(new Error('rejected after the answer'))),
  late('emits_late', () => emitter.emit('error', new Error('emitted after the answer'))),
  late('exits_late', () => process.exit(9)),
  late('aborts_late', () => process.abort()),
  late('spins_late', () => {
    writeSync(2, 'spinning now\n');
    for (;;);
  }),
  defineTool({
    name: 'rejects_unwatched',
    description: 'Loses a promise on its way.',
    effects: 'read',
    input: z.object({}),
    run: async () => {
      void Promise.reject(new Error('nobody waits for this'));
      await new Promise((resolve) => setTimeout(resolve, LATER_MS));
      return 'answered';
    },
  }),
  defineTool({
    name: 'quiet_neighbour',
    description: 'A good tool of the same file.',
    effects: 'read',
    input: z.object({}),
    run: () => 'quiet',
  }),
];
