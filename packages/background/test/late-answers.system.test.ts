import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RunningProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { beginCell, beginKept, type Cell, handleOf, type Lab, startLab, toBody, untilTrue } from './deaths-lab.ts';

// A worker that dies, or whose Redis answers late for a moment: its calls are not left behind.

// More by hand: RUNS=30.
const DEATHS = Number(process.env['RUNS'] ?? 2);

const endOf = async (service: RunningProcess, { requestId }: Cell): Promise<string> => {
  const [result] = (await createPendingClient(service.url).finish(requestId)).results;
  return result?.outcome === 'success' ? String(result.value) : String(result?.error?.code);
};

test('a read whose worker is killed begins again within 8 s, on another worker', {
  timeout: timeLimit(30_000) * (DEATHS + 1),
}, async () => {
  const lab = await startLab();
  const service = await lab.startApi();
  const startWorker = () => startWorkerProcess({ by: 'node', environment: lab.environment });
  let worker = await startWorker();
  for (let death = 1; death <= DEATHS; death += 1) {
    const name = `death ${death}`;
    const cell = await beginCell(service, lab, { tool: 'killed_read', name, waitsFor: join(lab.files.root, 'never') });
    await untilTrue(() => lab.linesOf('begin', name) === 1, `${name} has begun`);
    const next = await startWorker();
    worker.send('SIGKILL', 'group');
    const diedAt = performance.now();
    await untilTrue(() => lab.linesOf('begin', name) === 2, `${name} has begun again`);
    const seconds = (performance.now() - diedAt) / 1000;
    process.stdout.write(`killed read: begun again ${seconds.toFixed(1)} s after the death\n`);
    expect(seconds).toBeLessThan(timeLimit(8000) / 1000);
    expect(await endOf(service, cell)).toBe('second run');
    worker = next;
  }
});

/** Has a service accept a write of a session, whose end is settled there. */
const beginWrite = async (service: RunningProcess, lab: Lab, name: string) => {
  const go = join(lab.files.root, `go ${name}`);
  const body = { ...toBody(lab, 'other_write', name, go), session_id: name };
  const answer = await beginKept(service, name, body);
  await untilTrue(() => lab.linesOf('begin', name) === 1, `${name} has begun`);
  return {
    cell: { name, requestId: answer.requestId, handle: handleOf(answer) },
    end: () => void (existsSync(go) || lab.files.write(`go ${name}`, '')),
  };
};

test('a worker that Redis answered late for a moment writes the results of all its writes, and stops in seconds', {
  timeout: timeLimit(90_000),
}, async () => {
  const lab = await startLab();
  const proxy = await startTcpProxy({ to: lab.redis.port });
  onTestFinished(proxy.close);
  const service = await lab.startApi();
  const worker = await startWorkerProcess({
    by: 'node',
    environment: { ...lab.environment, REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
  });
  const [first, second, third] = await Promise.all(
    ['first', 'second', 'third'].map((name) => beginWrite(service, lab, name)),
  );
  if (first === undefined || second === undefined || third === undefined) throw new Error('There are three.');
  // Settlements have a second: two that are later make an outage of it. The connection stays.
  proxy.delay(600);
  for (const { end, cell } of [first, second]) {
    end();
    expect(await endOf(service, cell)).toBe('first run');
  }
  expect(await worker.logged('session store availability changed')).toMatchObject({ state: 'down' });
  proxy.delay(75);
  const stoppedAt = performance.now();
  worker.send('SIGTERM', 'service');
  third.end();
  expect(await endOf(service, third.cell)).toBe('first run');
  expect((await worker.exited).code).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(timeLimit(6000));
});
