import { readResidentMb } from '../process-usage.ts';
import type { Server } from '../servers.ts';

export type MemoryWatch = {
  readonly stop: () => void;
  /** Memory when the watch began, the highest while it lasted, and now. */
  readonly toMemory: () => Memory;
};

/** In MB. */
export type Memory = { readonly beforeMb: number; readonly highestMb: number; readonly afterMb: number };

const SAMPLE_MS = 100;

/** Watches the memory of a server from now on. */
export const watchMemory = ({ process }: Server): MemoryWatch => {
  const beforeMb = readResidentMb(process.pid);
  let highestMb = beforeMb;
  const timer = setInterval(() => {
    // Where it has ended, whoever waits for an answer hears of that.
    if (process.child.exitCode === null && process.child.signalCode === null)
      highestMb = Math.max(highestMb, readResidentMb(process.pid));
  }, SAMPLE_MS);
  return {
    stop: () => clearInterval(timer),
    toMemory: () => ({ beforeMb, highestMb, afterMb: readResidentMb(process.pid) }),
  };
};
