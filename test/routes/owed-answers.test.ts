import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { trackAnswers } from '#src/routes/connections.ts';

/** A server that keeps its answers until the test gives them. */
const start = async () => {
  const owed: ServerResponse[] = [];
  const server = createServer((_request, answer) => void owed.push(answer));
  const whenSent = trackAnswers(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const { port } = address;
  const ask = (times: number) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(times));
    return socket;
  };
  return { owed, whenSent, ask };
};

test('all answers of a connection are waited for, one after the other', async () => {
  const { owed, whenSent, ask } = await start();
  ask(2);
  await expect.poll(() => owed.length).toBe(2);
  let sent = 0;
  const done = whenSent().then(() => expect(sent).toBe(2));
  for (const answer of owed) {
    answer.on('finish', () => {
      sent += 1;
    });
    answer.end('a');
    await once(answer, 'close');
  }
  await done;
});

test('a client that goes, a connection without a request and half a request are not waited for', async () => {
  const { owed, whenSent, ask } = await start();
  const gone = ask(1);
  ask(0);
  ask(0).write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhal');
  await expect.poll(() => owed.length).toBe(2);
  const done = whenSent();
  gone.destroy();
  await done;
  await whenSent();
});
