import { request } from 'node:http';
import { createServer } from 'node:net';
import { startHostedService } from '@recourse/test-support/hosted-service.ts';
import type { Launch } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

const STARTERS: readonly Launch['by'][] = ['node', 'npm'];

test.each(STARTERS)('started by %s, a Ctrl-C does not reach the hosts whose calls are drained', async (by) => {
  const { running, call, began, tell, processes, allGone } = await startHostedService({ by });
  const answers = call([{ name: 'until_told' }, { name: 'until_told' }, { name: 'until_told' }]);
  await began(3);
  const before = processes.hosts();
  running.send('SIGINT', 'group');
  await running.logged('draining');
  expect(processes.hosts()).toEqual(expect.arrayContaining([...before]));
  tell();
  expect((await answers).map(({ value }) => value)).toEqual(['told', 'told', 'told']);
  await running.exited;
  await allGone();
});

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
};

/** Posts one batch on a connection of its own; null where there was no answer. */
const post = (port: number, calls: readonly unknown[]): Promise<{ status: number; text: string } | null> =>
  new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' };
    const sending = request({ port, host: '127.0.0.1', path: '/tool-calls', method: 'POST', headers, agent: false });
    sending.on('response', (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => void parts.push(part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
      answer.on('error', () => resolve(null));
    });
    sending.on('error', () => resolve(null)).end(JSON.stringify({ calls }));
  });

type Seen = { batches: number; readonly answered: Set<string>; readonly statuses: Set<number> };

const callOnce = async (port: number, ids: readonly string[], seen: Seen): Promise<void> => {
  const calls = ids.map((id) => ({ id, name: 'note', arguments: { id } }));
  const answer = await post(port, calls);
  if (answer === null) {
    // Nobody listens for a moment: not to be asked without a pause.
    await new Promise((resolve) => setTimeout(resolve, 10));
    return;
  }
  seen.statuses.add(answer.status);
  if (answer.status !== 200) return;
  const { results } = ToolCallsResponse.parse(JSON.parse(answer.text));
  expect(results.map(({ id }) => id)).toEqual(ids);
  for (const { id, executed } of results) if (executed !== 'no') seen.answered.add(String(id));
  seen.batches += 1;
};

/** Keeps four callers busy until told to stop; `answered` are the ids of calls that ran and whose results came back. */
const startLoad = (port: number) => {
  const seen: Seen = { batches: 0, answered: new Set(), statuses: new Set() };
  const state = { stopped: false };
  const callOnAndOn = async (caller: number): Promise<void> => {
    for (let n = 0; !state.stopped; n += 1) await callOnce(port, [`${caller}_${n}_a`, `${caller}_${n}_b`], seen);
  };
  const done = Promise.all([1, 2, 3, 4].map(callOnAndOn));
  return {
    seen,
    batches: () => seen.batches,
    stop: (): Promise<unknown> => {
      state.stopped = true;
      return done;
    },
  };
};

test('restarted on the same port under load, it loses no result of what has run', async () => {
  const port = await freePort();
  const environment = { PORT: String(port) };
  const first = await startHostedService({ by: 'node', environment });
  const load = startLoad(port);
  await expect.poll(load.batches, { timeout: timeLimit(20_000) }).toBeGreaterThan(20);
  first.running.send('SIGTERM', 'service');
  expect(await first.running.exited).toEqual({ code: 0, signal: null });
  await first.allGone();
  const before = load.batches();
  const second = await startHostedService({ by: 'node', environment });
  await expect.poll(load.batches, { timeout: timeLimit(20_000) }).toBeGreaterThan(before + 20);
  await load.stop();
  const ran = [...first.noted(), ...second.noted()].sort();
  expect(ran).toEqual([...load.seen.answered].sort());
  expect([...load.seen.statuses].filter((status) => status !== 503)).toEqual([200]);
});
