import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { openLane } from '../../bench/slices/open-lane.ts';
import { findAnswerEnd } from '../../bench/slices/read-answer.ts';
import { LanePlan } from '../../bench/slices/slice-plan.ts';

type Seen = { readonly bodies: string[]; readonly keys: string[]; connections: number; closed: number };

type TestServer = { readonly url: string; readonly seen: Seen; readonly closeConnections: () => void };

/** A server of this process that answers every request with the same status and text. */
const startServer = async (text: string, status = 200): Promise<TestServer> => {
  const seen: Seen = { bodies: [], keys: [], connections: 0, closed: 0 };
  const answer: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      seen.bodies.push(body);
      seen.keys.push(String(request.headers['idempotency-key']));
      response.writeHead(status, { 'content-length': String(Buffer.byteLength(text)) }).end(text);
    });
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  server.on('connection', (socket) => {
    seen.connections += 1;
    socket.once('close', () => {
      seen.closed += 1;
    });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return {
    url: `http://127.0.0.1:${address.port}/tool-calls`,
    seen,
    closeConnections: () => server.closeAllConnections(),
  };
};

const TWO_SUCCESSES = '{"results":[{"success":true},{"success":true}]}';

const openTo = async (url: string, load: object) => {
  const lane = await openLane(LanePlan.parse({ url, pid: process.pid, calls: 2, connections: 4, ...load }), 1);
  onTestFinished(lane.close);
  return lane;
};

test('a slice counts every answer and the processor time of the server, and leaves no request open', async () => {
  const { url, seen } = await startServer(TWO_SUCCESSES);
  const lane = await openTo(url, { sessions: 3, requests: 6 });
  const slice = await lane.drive({ ms: 30, calls: 0 });
  expect(slice.answers).toBe(seen.bodies.length);
  expect(slice.answers).toBeGreaterThan(4);
  expect(slice.ms).toBeGreaterThanOrEqual(30);
  expect(slice.cpuNanos).toBeGreaterThan(1_000_000);
  expect(slice.cpuNanos).toBeLessThan(slice.ms * 1_000_000 * 8);
  expect(slice).toMatchObject({ times: [], warned: 0, warning: '' });
  expect(seen.connections).toBe(4);
});

test('a stint of so many answers sends so many batches, in turn, and every call has a text of its own', async () => {
  const { url, seen } = await startServer(TWO_SUCCESSES);
  const lane = await openTo(url, { sessions: 3, requests: 6, connections: 1, timed: true });
  const slice = await lane.drive({ answers: 7 });
  expect(slice.answers).toBe(7);
  expect(slice.times).toHaveLength(7);
  expect(Math.min(...slice.times)).toBeGreaterThan(0);
  const sent = seen.bodies.map((body): { session_id: string } => JSON.parse(body));
  expect(sent.map(({ session_id }) => session_id.slice(-1))).toEqual(['0', '1', '2', '0', '1', '2', '0']);
  expect(new Set(seen.bodies.flatMap((body) => body.match(/"text":"[^"]*"/g))).size).toBe(12);
});

test('a fresh key is never sent twice, a kept one comes again', async () => {
  const { url, seen } = await startServer(TWO_SUCCESSES);
  const fresh = await openTo(url, { key: 'fresh', requests: 4 });
  await fresh.drive({ answers: 12 });
  expect(new Set(seen.keys).size).toBe(12);
  seen.keys.length = 0;
  const kept = await openTo(url, { key: 'kept', requests: 4 });
  await kept.drive({ answers: 12 });
  expect(new Set(seen.keys).size).toBe(4);
});

test.each([
  ['one success for two calls', '{"results":[{"success":true},{"success":false}]}', 200],
  ['another status', TWO_SUCCESSES, 503],
])('a slice with a wrong answer fails: %s', async (_what, text, status) => {
  const { url } = await startServer(text, status);
  const lane = await openTo(url, {});
  await expect(lane.drive({ ms: 20, calls: 0 })).rejects.toThrow('a wrong answer');
});

test('a connection that the server closes between two slices fails the next one at once', async () => {
  const { url, seen, closeConnections } = await startServer(TWO_SUCCESSES);
  const lane = await openTo(url, {});
  await lane.drive({ answers: 4 });
  closeConnections();
  await expect.poll(() => seen.closed).toBe(4);
  await expect(lane.drive({ answers: 4 })).rejects.toThrow(/closed|ECONNRESET|EPIPE/);
});

test('a slice counts answers that carry a warning', async () => {
  const { url } = await startServer('{"results":[{"success":true,"warnings":[{}]},{"success":true}]}');
  const lane = await openTo(url, {});
  expect(await lane.drive({ answers: 5 })).toMatchObject({ answers: 5, warned: 5 });
});

test('an answer ends where its length or its last chunk says, and one that says nothing is refused', () => {
  expect(findAnswerEnd('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab')).toEqual({ body: 38, end: 40 });
  expect(findAnswerEnd('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na')).toBeNull();
  expect(findAnswerEnd('HTTP/1.1 200 OK\r\nContent-Le')).toBeNull();
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n';
  expect(findAnswerEnd(chunked)).toBeNull();
  expect(findAnswerEnd(`${chunked}0\r\n\r\n`)).toEqual({ body: 47, end: 59 });
  expect(() => findAnswerEnd('HTTP/1.1 200 OK\r\n\r\n')).toThrow('says nothing of its length');
});
