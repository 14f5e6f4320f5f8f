import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createNoteRequest } from '#src/routes/connections.ts';

const REQUESTS = 8000;
// libuv reads 64 KiB at once: so many of these requests, of which the last one is cut in two.
const ONE = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 64\r\n\r\n${'x'.repeat(64)}`;
const OF_ONE_READING = Math.ceil(65_536 / ONE.length);

test('one connection that pipelines thousands of requests holds a turn of the loop for no more than one reading, and all are answered', async () => {
  const noteRequest = createNoteRequest();
  const turns: number[] = [];
  let inTurn = 0;
  const server = createServer((request, response) => {
    noteRequest(request.socket, performance.now());
    if (inTurn === 0)
      setImmediate(() => {
        turns.push(inTurn);
        inTurn = 0;
      });
    inTurn += 1;
    // So that any reading takes longer than a connection may have of a turn.
    const until = performance.now() + 0.05;
    while (performance.now() < until);
    request.resume().once('end', () => response.end('ok'));
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const socket = connect(address.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(ONE.repeat(REQUESTS));
  let text = '';
  const answers = (): number => text.split('HTTP/1.1 200').length - 1;
  for await (const bytes of socket) {
    text += String(bytes);
    if (answers() === REQUESTS) break;
  }
  expect(answers()).toBe(REQUESTS);
  // The turn of the last requests is counted when it is over.
  await new Promise((resolve) => setImmediate(resolve));
  expect(turns.reduce((sum, count) => sum + count, 0)).toBe(REQUESTS);
  expect(Math.max(...turns)).toBeLessThanOrEqual(OF_ONE_READING + 1);
});
