import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { holdWrites, startRedisSentinels } from '@recourse/test-support/redis-sentinel.ts';
import { type RunningProcess, startProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { beginCell, type Cell, describeAll, type Lab, startLab, untilTrue } from './deaths-lab.ts';

// Leases lapse whose workers live: the store was away for all of them, or they were stopped. Who owns a call renews first.

const WRITES = 20;
// Longer than a lease, which has 5 s.
const AWAY_MS = 8000;

/** Has a service accept writes that run until they are let go. */
const beginWrites = async (service: RunningProcess, lab: Lab) => {
  const waitsFor = join(lab.files.root, 'go');
  const cells: Cell[] = [];
  for (let count = 0; count < WRITES; count += 1)
    cells.push(await beginCell(service, lab, { tool: 'other_write', name: `write ${count}`, waitsFor }));
  await untilTrue(() => cells.every(({ name }) => lab.linesOf('begin', name) === 1), 'all writes run');
  return { cells, letGo: () => lab.files.write('go', '') };
};

const Head = z.object({ state: z.string(), leaseEndsAt: z.number() });

/** Whether a worker holds each call. */
const areHeld = async (client: Redis): Promise<boolean> => {
  const keys = await client.keys('recourse2:{*}:call');
  const heads = await Promise.all(keys.map(async (key) => Head.parse(JSON.parse((await client.hget(key, 'h')) ?? ''))));
  return heads.length === WRITES && heads.every((head) => head.state === 'running' && head.leaseEndsAt > Date.now());
};

const FIRST = 'first run, begun 1 times';

/** Lets all writes end: each is known to have run once. */
const expectAllKnown = async (
  service: RunningProcess,
  lab: Lab,
  { cells, letGo }: Awaited<ReturnType<typeof beginWrites>>,
) => {
  letGo();
  const ends = Object.values(await describeAll(service, lab, cells));
  expect(ends).toEqual(cells.map(() => FIRST));
};

test('a Redis that answers nobody for eight seconds costs no write its worker, also not one that it answers a second later than others', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const proxies = [await startTcpProxy({ to: lab.redis.port }), await startTcpProxy({ to: lab.redis.port })] as const;
  for (const { close } of proxies) onTestFinished(close);
  const [first, second] = proxies.map(({ port }) => ({
    ...lab.environment,
    REDIS_URL: `redis://127.0.0.1:${port}`,
  }));
  if (first === undefined || second === undefined) throw new Error('There are two.');
  const [service] = await Promise.all([
    lab.startApi('node', first),
    startWorkerProcess({ by: 'node', environment: first }),
    startWorkerProcess({ by: 'node', environment: second }),
  ]);
  const writes = await beginWrites(service, lab);
  for (const { drop } of proxies) drop();
  await pause(AWAY_MS);
  expect(await areHeld(lab.client)).toBe(false);
  proxies[0].deliver();
  await pause(1000);
  proxies[1].deliver();
  await untilTrue(() => areHeld(lab.client), 'each write is held again');
  await expectAllKnown(service, lab, writes);
});

test('a service that was stopped takes no lease when it goes on, although the jobs of others are put back by then', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const start = () => startProcess({ by: 'node', environment: lab.environment });
  const [service, first, second] = await Promise.all([lab.startApi(), start(), start()]);
  const writes = await beginWrites(service, lab);
  for (const stopped of [first, second]) stopped.send('SIGSTOP', 'service');
  await pause(AWAY_MS);
  first.send('SIGCONT', 'service');
  // It has swept and fetched by then.
  await pause(2000);
  second.send('SIGCONT', 'service');
  await untilTrue(() => areHeld(lab.client), 'each write is held again');
  await expectAllKnown(service, lab, writes);
});

test('a fail-over of Sentinels that takes longer than a lease costs no write its worker', {
  timeout: timeLimit(120_000),
}, async () => {
  const setup = await startRedisSentinels({ downAfterMs: 5000 });
  onTestFinished(setup.stop);
  const lab = await startLab();
  const environment = { ...lab.environment, REDIS_URL: setup.url };
  const startWorker = () => startWorkerProcess({ by: 'node', environment });
  const [service] = await Promise.all([lab.startApi('node', environment), startWorker(), startWorker()]);
  const writes = await beginWrites(service, lab);
  const [master] = setup.servers;
  if (master === undefined) throw new Error('There is no master.');
  await holdWrites(master.server);
  await master.server.kill();
  await setup.promoted(master.port);
  const client = new Redis(await setup.masterPort(), '127.0.0.1');
  onTestFinished(() => client.disconnect());
  await untilTrue(() => areHeld(client), 'each write is held again');
  await expectAllKnown(service, lab, writes);
});
