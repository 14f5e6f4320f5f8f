import { setTimeout as pause } from 'node:timers/promises';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import type { Part } from '../part.ts';
import type { Server } from '../servers.ts';
import { countHosts } from './count-hosts.ts';
import { openConnection, toPost } from './http-connection.ts';
import { startToolService } from './tool-service.ts';

/** Calls that never end, one after the other. Times in milliseconds. */
export type Kills = {
  /** From the deadline of each call to its answer. */
  readonly answeredAfterMs: readonly number[];
  /** From the answer until as many hosts are idle as before the call. */
  readonly wholeAfterMs: readonly number[];
};

const TIMEOUT_MS = 100;
const CALLS = 60;
// Every look costs the service a few milliseconds, and the new host shares its core.
const LOOK_EVERY_MS = 10;
const MOST_WAIT_MS = 10_000;
// As many as there are files: none ends because it has been idle for long.
const HOSTS_KEPT = '3';

/** Lets a tool spin in a host that shares the service's core, and looks when its call is answered and its host replaced. */
export const measureKill = async ({ surroundings, progress }: Part): Promise<Kills> => {
  const service = await startToolService(surroundings, { TOOL_HOSTS_MIN: HOSTS_KEPT });
  const answeredAfterMs: number[] = [];
  const wholeAfterMs: number[] = [];
  progress(`kill: ${CALLS} calls that never end`);
  for (let call = 0; call < CALLS; call += 1) {
    const idle = (await countHosts(service)).idle;
    answeredAfterMs.push((await spin(service.url)) - TIMEOUT_MS);
    const answeredAt = performance.now();
    await waitUntilIdle(service, idle);
    wholeAfterMs.push(performance.now() - answeredAt);
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

const waitUntilIdle = async (server: Server, idle: number): Promise<void> => {
  const giveUpAt = performance.now() + MOST_WAIT_MS;
  while ((await countHosts(server)).idle < idle) {
    if (performance.now() > giveUpAt)
      throw new Error(`There were not ${idle} idle hosts again within ${MOST_WAIT_MS} ms.`);
    await pause(LOOK_EVERY_MS);
  }
};
