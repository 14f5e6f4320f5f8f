import { startAsking } from '../ask-process.ts';
import type { Part } from '../part.ts';
import { measureOverhead } from './measure-overhead.ts';
import { measureThroughput } from './measure-throughput.ts';
import { measureWaiters } from './measure-waiters.ts';
import { measureWaiting } from './measure-waiting.ts';
import { toPendingSection } from './to-pending-section.ts';

/** Calls that outlive their requests: what they cost, what waits for them, and what others notice of it. */
export const measurePending = async (part: Part): Promise<readonly string[]> => {
  const ask = startAsking('pending/send-load.ts', part.surroundings);
  return toPendingSection({
    throughput: await measureThroughput(part, ask),
    overhead: await measureOverhead(part, ask),
    waiting: await measureWaiting(part),
    waiters: await measureWaiters(part, ask),
  });
};
