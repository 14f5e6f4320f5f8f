import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { openLinePool } from '../../bench/paced/line-pool.ts';
import { createPacedTally } from '../../bench/paced/paced-tally.ts';
import { createTurns } from '../../bench/paced/take-turns.ts';

test('items have their turns as often as their weights say, spread evenly', () => {
  const next = createTurns([
    { item: 'a', weight: 3 },
    { item: 'b', weight: 1 },
  ]);
  expect(Array.from({ length: 8 }, next).join('')).toBe('aabaaaba');
});

test('what was wrong is counted by what it was, and has no part in the times', () => {
  const tally = createPacedTally();
  const answer = (status: number, body = '') => ({ status, body, text: body });
  tally.add(answer(200), 'right', 10, true);
  tally.add(answer(200), 'warned', 30, false);
  tally.add(answer(503), 'wrong', 1, true);
  tally.add(answer(200, '{"code":"overloaded"}'), 'wrong', 1, true);
  tally.addOther('no answer');
  expect(tally.toCounts()).toEqual({
    answeredInTime: 1,
    outcomes: { right: 1, warned: 1, 'HTTP 503': 1, overloaded: 1, 'no answer': 1 },
    p50: 10,
    p99: 30,
    p999: 30,
  });
});

test('a pool gives each answer to the batch it belongs to, and uses its connections in turn', async () => {
  const ports: (number | undefined)[] = [];
  const server = createServer((request, response) => {
    if (request.method === 'POST') ports.push(request.socket.remotePort);
    response.end(request.url);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  const answered: (readonly [string, string])[] = [];
  const first = Promise.withResolvers<void>();
  const pool = await openLinePool<{ readonly name: string }>({
    url: `http://127.0.0.1:${address.port}/`,
    lines: 2,
    onAnswer: ({ body }, { name }) => {
      answered.push([name, body]);
      if (answered.length === 2) first.resolve();
    },
    onLost: (reason) => first.reject(new Error(reason)),
  });
  const post = (path: string) => Buffer.from(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`);
  pool.send(post('/one'), { name: 'one' });
  pool.send(post('/two'), { name: 'two' });
  expect(pool.hasFree()).toBe(false);
  await first.promise;
  expect(answered.toSorted()).toEqual([
    ['one', '/one'],
    ['two', '/two'],
  ]);
  expect(new Set(ports).size).toBe(2);
  expect(pool.close()).toBe(0);
});
