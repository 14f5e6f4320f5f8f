import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const portOf = (address: AddressInfo | string | null): number =>
  address !== null && typeof address === 'object' ? address.port : 0;

/** A service whose log goes into a socket that nobody reads, and the reader's end of it. */
const startUnread = async (): Promise<{
  readonly child: ChildProcess;
  readonly url: string;
  readonly reader: Socket;
}> => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  const connected = once(server, 'connection');
  const log = connect(port, '127.0.0.1');
  await once(log, 'connect');
  const [reader]: Socket[] = await connected;
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const url = `http://127.0.0.1:${portOf(free.address())}`;
  free.close();
  await once(free, 'close');
  const child = spawn('node', [...FROM_SOURCES, 'src/main.ts'], {
    cwd: ROOT,
    env: cleanEnvironment({ PORT: new URL(url).port, SHUTDOWN_GRACE_MS: '100' }),
    stdio: ['ignore', log, 'ignore'],
  });
  log.destroy();
  onTestFinished(() => {
    child.kill('SIGKILL');
    server.close();
  });
  if (reader === undefined) throw new Error('Nobody holds the other end.');
  await expect
    .poll(
      () =>
        fetch(`${url}/live`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: timeLimit(20_000) },
    )
    .toBe(200);
  return { child, url, reader };
};

test('a service whose log nobody reads any more goes on serving, and ends on SIGTERM', async () => {
  const { child, url, reader } = await startUnread();
  const exited = once(child, 'exit');
  const batch = () => callService(url, [{ name: 'echo', arguments: { text: 'a' } }]);
  // Until lines lie in the socket, unread: then closing it is a reset, and not only a broken pipe.
  const startedAt = performance.now();
  while (performance.now() - startedAt < 500) await batch();
  reader.destroy();
  while (performance.now() - startedAt < 1000) expect(await batch()).toMatchObject([{ success: true }]);
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});
