import { setTimeout as pause } from 'node:timers/promises';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { openConnection, toPost } from '../http-connection.ts';
import type { Part } from '../part.ts';
import { startToolService } from './tool-service.ts';

/** Pairs of calls that never end. Times in milliseconds. */
export type Kills = {
  /** From the deadline of the first call of each pair to its answer. */
  readonly answeredAfterMs: readonly number[];
  /** From that answer until the second one, sent at once, has a process; its answer at its own deadline included. */
  readonly wholeAfterMs: readonly number[];
};

const TIMEOUT_MS = 100;
const PAIRS = 30;
// Until the pool has replaced what it lost in a pair.
const PAUSE_MS = 600;
// As many as there are files: none ends because it has been idle for long.
const HOSTS_KEPT = '3';

/** Lets a tool spin in a host that shares the service's core, and again as soon as it is answered. */
export const measureKill = async ({ surroundings, progress }: Part): Promise<Kills> => {
  const service = await startToolService(surroundings, { TOOL_HOSTS_MIN: HOSTS_KEPT });
  const answeredAfterMs: number[] = [];
  const wholeAfterMs: number[] = [];
  // The first call finds a service that has answered nothing yet, and costs its file the place among others.
  await spin(service.url);
  progress(`kill: ${PAIRS} pairs of calls that never end`);
  for (let pair = 0; pair < PAIRS; pair += 1) {
    await pause(PAUSE_MS);
    answeredAfterMs.push((await spin(service.url)) - TIMEOUT_MS);
    wholeAfterMs.push((await spin(service.url)) - TIMEOUT_MS);
  }
  await service.process.end();
  return { answeredAfterMs, wholeAfterMs };
};

const BODY = JSON.stringify({
  calls: [{ id: 'call_0', name: 'spin_isolated', arguments: {}, timeout_ms: TIMEOUT_MS }],
});

/** Makes a call that never ends; gives the time to its answer, in milliseconds. */
const spin = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    let sentAt = 0;
    const connection = openConnection(url, {
      onAnswer: ({ status, body }) => {
        const tookMs = performance.now() - sentAt;
        connection.close();
        const code = status === 200 ? ToolCallsResponse.parse(JSON.parse(body)).results[0]?.error?.code : null;
        if (code === 'timeout') resolve(tookMs);
        else reject(new Error(`A call that never ends should be a timeout (${status}): ${body.slice(0, 500)}`));
      },
      onBroken: (reason) => reject(new Error(reason)),
    });
    sentAt = performance.now();
    connection.send(toPost(url, BODY));
  });
