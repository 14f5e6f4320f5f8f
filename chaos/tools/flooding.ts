import { writeSync } from 'node:fs';
import { defineTool, z } from 'recourse-server';

const BLOCK = Buffer.alloc(1_048_576, 'flood ');
const BLOCKS = 300;
// Node's message channel to whoever started the process.
const CHANNEL = 3;

// A full pipe (EAGAIN) and a closed one end one attempt, never the flood.
const flood = (descriptor: number): void => {
  for (let block = 0; block < BLOCKS; block += 1) {
    try {
      writeSync(descriptor, BLOCK);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
};

const FLOODS = {
  stdout: () => flood(1),
  stderr: () => flood(2),
  channel: () => flood(CHANNEL),
  messages: () => {
    for (let sent = 0; sent < 100_000; sent += 1) process.send?.({ forged: sent, result: { value: 'not mine' } });
  },
} as const;

export const floodTool = defineTool({
  name: 'flood',
  description: 'Writes far more than anybody wants to read.',
  effects: 'read',
  input: z.object({ where: z.enum(['stdout', 'stderr', 'channel', 'messages']) }),
  timeoutMs: 2000,
  run: ({ where }) => {
    FLOODS[where]();
    return { flooded: where };
  },
});
