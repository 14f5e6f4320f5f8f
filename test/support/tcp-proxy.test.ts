import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { timeLimit } from './time-limit.ts';

let target: Server;
let proxy: TcpProxy;
let clients: Socket[];

beforeEach(async () => {
  clients = [];
  target = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  const address = target.address();
  if (address === null || typeof address === 'string') throw new Error('The target listens on no port.');
  proxy = await startTcpProxy({ to: address.port });
});

afterEach(() => {
  for (const client of clients) client.destroy();
  proxy.close();
  target.close();
});

/** A client whose bytes come back; `said` collects them. */
const join = async (): Promise<{ readonly socket: Socket; readonly said: () => string }> => {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(socket);
  let said = '';
  socket.on('data', (chunk) => {
    said += String(chunk);
  });
  await once(socket, 'connect');
  return { socket, said: () => said };
};

const within = (): { readonly signal: AbortSignal } => ({ signal: AbortSignal.timeout(timeLimit(20_000)) });

test('bytes pass in both directions, and a client that has sent everything still gets its answer', async () => {
  const { socket, said } = await join();
  socket.end('x'.repeat(300_000));
  await once(socket, 'end', within());
  expect(said()).toHaveLength(300_000);
  await expect.poll(() => proxy.connections()).toBe(0);
});

test('cutting resets what is connected and lets new clients in', async () => {
  const { socket } = await join();
  socket.write('a');
  await once(socket, 'data', within());
  expect(proxy.connections()).toBe(1);
  proxy.cut();
  await expect(once(socket, 'end', within())).rejects.toMatchObject({ code: 'ECONNRESET' });
  const next = await join();
  next.socket.write('b');
  await once(next.socket, 'data', within());
  expect(next.said()).toBe('b');
});

test('a frozen proxy forwards nothing on old and new connections, then everything in order', async () => {
  const old = await join();
  old.socket.write('1');
  await once(old.socket, 'data', within());
  proxy.freeze();
  old.socket.write('2');
  const fresh = await join();
  fresh.socket.write('3');
  await expect(once(old.socket, 'data', { signal: AbortSignal.timeout(100) })).rejects.toThrow('aborted');
  expect([old.said(), fresh.said()]).toEqual(['1', '']);
  expect(old.socket.destroyed).toBe(false);
  proxy.thaw();
  await expect.poll(() => [old.said(), fresh.said()]).toEqual(['12', '3']);
});

test('a dropping proxy loses what is sent; later what has lost something is reset, and the rest goes on', async () => {
  const [talking, quiet] = [await join(), await join()];
  for (const { socket } of [talking, quiet]) {
    socket.write('1');
    await once(socket, 'data', within());
  }
  proxy.drop();
  talking.socket.write('2');
  await expect(once(talking.socket, 'data', { signal: AbortSignal.timeout(100) })).rejects.toThrow('aborted');
  const reset = expect(once(talking.socket, 'end', within())).rejects.toMatchObject({ code: 'ECONNRESET' });
  proxy.deliver();
  await reset;
  quiet.socket.write('3');
  await expect.poll(quiet.said).toBe('13');
  expect(talking.said()).toBe('1');
});

test('refusing turns new clients away and keeps the others, until clients are accepted again', async () => {
  const old = await join();
  // Only an answer proves that the proxy has taken the connection out of the queue that refusing empties.
  old.socket.write('1');
  await once(old.socket, 'data', within());
  proxy.refuse();
  await expect(join()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  old.socket.write('2');
  await expect.poll(() => old.said()).toBe('12');
  await proxy.accept();
  await proxy.accept();
  const next = await join();
  next.socket.write('3');
  await once(next.socket, 'data', within());
  expect(next.said()).toBe('3');
});

test('a delay holds bytes back in either direction, keeps their order and can be taken away', async () => {
  const { socket, said } = await join();
  proxy.delay(40);
  const startedAt = performance.now();
  socket.write('slow');
  await once(socket, 'data', within());
  // There and back; a timer may fire up to one millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(78);
  socket.write('1');
  proxy.delay(0);
  socket.write('2');
  await expect.poll(() => said()).toBe('slow12');
});

test('a target that is down resets the client', async () => {
  target.close();
  await once(target, 'close');
  const { socket } = await join();
  await expect(once(socket, 'end', within())).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('the answers to single commands are held, and with them what follows on their connection', async () => {
  const [held, other] = [await join(), await join()];
  const count = proxy.holdAnswers({ word: 'start', times: 1, ms: 300 });
  const command = '*2\r\n$7\r\nEVALSHA\r\n$5\r\nstart\r\n';
  const startedAt = performance.now();
  held.socket.write(command);
  await expect.poll(count).toBe(1);
  held.socket.write('later');
  other.socket.write(command);
  await once(other.socket, 'data', within());
  expect(held.said()).toBe('');
  await expect.poll(held.said, { timeout: timeLimit(20_000) }).toBe(`${command}later`);
  expect(performance.now() - startedAt).toBeGreaterThan(290);
  expect(count()).toBe(1);
});
