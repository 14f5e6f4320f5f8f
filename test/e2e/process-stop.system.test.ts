import { once } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import {
  type Launch,
  type RunningProcess,
  type SignalTarget,
  startProcess,
} from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

const IN_FLIGHT = 20;

/** A server that keeps every request waiting until it is told to answer. */
const startSlowTarget = async (expected: number) => {
  const held: ServerResponse[] = [];
  const allCame = Promise.withResolvers<void>();
  const target = await startHttpTarget((response) => {
    held.push(response);
    if (held.length === expected) allCame.resolve();
  });
  return {
    origin: target.origin,
    allCame: allCame.promise,
    answer: () => {
      for (const response of held) response.writeHead(200, { 'content-type': 'text/plain' }).end('at last');
    },
  };
};

/** The service with `IN_FLIGHT` batches that wait for a slow page; `answers` are theirs. */
const startBusyProcess = async ({ by, environment = {} }: Launch) => {
  const target = await startSlowTarget(IN_FLIGHT);
  const running = await startProcess({ by, environment: { FETCH_ALLOW_PRIVATE: 'true', ...environment } });
  const answers = Array.from({ length: IN_FLIGHT }, (_, n) =>
    callService(running.url, [{ id: n, name: 'fetch_url', arguments: { url: `${target.origin}/${n}` } }]),
  );
  await Promise.race([target.allCame, Promise.all(answers)]);
  return { running, target, answers };
};

const post = (url: string): Promise<Response> =>
  fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"calls":[]}',
  });

const WAYS: readonly (readonly [Launch['by'], SignalTarget])[] = [
  ['node', 'service'],
  ['node', 'group'],
  ['npm', 'service'],
  ['npm', 'starter'],
  ['npm', 'group'],
];

test.each(WAYS)('started by %s, a SIGTERM to the %s lets 20 running calls end', async (by, signalTarget) => {
  const { running, target, answers } = await startBusyProcess({ by });

  running.send('SIGTERM', signalTarget);
  await running.logged('draining');

  const ready = await fetch(`${running.url}/ready`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ status: 'draining' });
  expect((await fetch(`${running.url}/live`)).status).toBe(200);
  const refused = await post(running.url);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(await refused.json()).toMatchObject({ status: 503, code: 'draining' });

  const askedAt = performance.now();
  target.answer();
  const results = (await Promise.all(answers)).flat();
  expect(results.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(results.filter(({ success }) => success)).toHaveLength(20);
  expect(results[0]?.value).toMatchObject({ content: 'at last' });
  expect(await running.exited).toEqual({ code: 0, signal: null });
  // The default grace is 25 s; nothing that still runs is left to wait for.
  expect(performance.now() - askedAt).toBeLessThan(timeLimit(25_000));
  expect(running.logLines().at(-1)).toMatchObject({ msg: 'stopped' });
});

const expectCutOff = async (running: RunningProcess, answers: readonly Promise<unknown>[]): Promise<void> => {
  const results = (await Promise.all(answers)).flat();
  expect(results).toHaveLength(20);
  for (const result of results) expect(result).toMatchObject({ success: false, error: { code: 'cancelled' } });
  expect(await running.exited).toEqual({ code: 0, signal: null });
};

test('calls that do not end within the grace are answered all the same, and it exits with 0', async () => {
  const { running, answers } = await startBusyProcess({ by: 'node', environment: { SHUTDOWN_GRACE_MS: '200' } });
  running.send('SIGTERM', 'service');
  await expectCutOff(running, answers);
});

/** Posts a batch and reads the answer 64 kB every 10 ms; `onFirstByte` is called once. */
const readSlowly = (url: string, calls: readonly unknown[], onFirstByte: () => void): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sending = request(`${url}/tool-calls`, { method: 'POST', headers: { 'content-type': 'application/json' } });
  sending.on('response', (answer) => {
    const parts: Buffer[] = [];
    answer.once('data', onFirstByte);
    answer.on('data', (part: Buffer) => {
      parts.push(part);
      answer.pause();
      setTimeout(() => answer.resume(), 10);
    });
    answer.on('end', () => resolve(Buffer.concat(parts).toString()));
    answer.on('error', reject);
  });
  sending.on('error', reject).end(JSON.stringify({ calls }));
  return promise;
};

test('a large answer to a slow reader is sent to its end', async () => {
  const target = await startHttpTarget(answering(200, { 'content-type': 'text/plain' }, 'x'.repeat(500_000)));
  const running = await startProcess({
    by: 'node',
    environment: { FETCH_ALLOW_PRIVATE: 'true', MAX_ANSWER_BYTES: '16777216' },
  });
  const call = { name: 'fetch_url', arguments: { url: target.origin, max_bytes: 500_000 } };
  const calls = Array.from({ length: 30 }, () => call);
  const body = await readSlowly(running.url, calls, () => running.send('SIGTERM', 'service'));
  const { results } = ToolCallsResponse.parse(JSON.parse(body));
  expect(results.filter(({ success }) => success)).toHaveLength(30);
  expect(await running.exited).toEqual({ code: 0, signal: null });
});

const openConnection = async (port: number, text: string): Promise<void> => {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.on('error', () => undefined).write(text);
};

test('neither a silent connection nor half a request holds up the end', async () => {
  const running = await startProcess({ by: 'node' });
  await openConnection(running.port, '');
  const head = 'POST /tool-calls HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n';
  await openConnection(running.port, `${head}{"calls"`);
  await fetch(`${running.url}/live`);
  const askedAt = performance.now();
  running.send('SIGTERM', 'service');
  expect(await running.exited).toEqual({ code: 0, signal: null });
  // The default grace is 25 s.
  expect(performance.now() - askedAt).toBeLessThan(timeLimit(10_000));
});

test('signals that come together are one: npm hands on what the whole process group has got', async () => {
  const { running, target, answers } = await startBusyProcess({ by: 'node' });
  // Two kinds, for the system may deliver two of one kind as one.
  running.send('SIGTERM', 'service');
  running.send('SIGINT', 'service');
  await running.logged('draining');
  target.answer();
  const results = (await Promise.all(answers)).flat();
  expect(results.filter(({ success }) => success)).toHaveLength(20);
  expect(await running.exited).toEqual({ code: 0, signal: null });
});

test('a second SIGTERM ends it at once', async () => {
  const { running, answers } = await startBusyProcess({ by: 'node' });
  const lost = Promise.allSettled(answers);
  running.send('SIGTERM', 'service');
  await running.logged('draining');
  const drainingSince = performance.now();
  // One that follows at once counts as the first one, handed on by npm: repeated until it is taken for a second.
  const again = setInterval(() => running.send('SIGTERM', 'service'), 50);
  const exit = await running.exited;
  clearInterval(again);
  expect(exit).toEqual({ code: 1, signal: null });
  // The grace would have been 25 s.
  expect(performance.now() - drainingSince).toBeLessThan(timeLimit(10_000));
  expect((await lost).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'));
});
