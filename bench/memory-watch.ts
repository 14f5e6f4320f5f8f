import { readResidentMb } from './process-usage.ts';
import type { Server } from './servers.ts';
import { summarise } from './summarise.ts';

export type MemoryWatch = {
  readonly stop: () => void;
  /** Memory when the watch began, half-way to now, the highest so far, and now. */
  readonly toMemory: () => Memory;
};

/** In MB. */
export type Memory = {
  readonly beforeMb: number;
  readonly middleMb: number;
  readonly highestMb: number;
  readonly afterMb: number;
};

const SAMPLE_MS = 100;

/** Watches the memory of a server from now on. */
export const watchMemory = ({ process }: Server): MemoryWatch => {
  const samples = [readResidentMb(process.pid)];
  const timer = setInterval(() => {
    // Where it has ended, whoever waits for an answer hears of that.
    if (process.child.exitCode === null && process.child.signalCode === null) samples.push(readResidentMb(process.pid));
  }, SAMPLE_MS);
  return {
    stop: () => clearInterval(timer),
    toMemory: () => ({
      beforeMb: samples[0] ?? Number.NaN,
      middleMb: samples[Math.floor(samples.length / 2)] ?? Number.NaN,
      highestMb: summarise(samples).highest,
      afterMb: readResidentMb(process.pid),
    }),
  };
};
