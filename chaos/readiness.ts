import { setTimeout as pause } from 'node:timers/promises';
import { type Replica, readText } from './replica.ts';

const READY_MS = 10_000;

/** How many replicas are ready and have found Redis again. */
export const countReady = async (replicas: readonly Replica[]): Promise<number> =>
  (await Promise.all(replicas.map(becomesReady))).filter((isReady) => isReady).length;

// A batch of a session is what makes a replica try Redis again.
const SESSION_BATCH = JSON.stringify({ session_id: 'after', calls: [{ name: 'echo', arguments: { text: 'again' } }] });

/** Resolves with whether it is, after at most ten seconds. */
export const becomesReady = async ({ url }: Replica): Promise<boolean> => {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    await readText(`${url}/tool-calls`, SESSION_BATCH);
    if ((await readText(`${url}/ready`))?.includes('"status":"ready"') === true) return true;
    await pause(200);
  }
  return false;
};
