import { createServer } from 'node:net';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { expect, onTestFinished, test } from 'vitest';

/** A port of this machine that is taken until the test ends. */
const takePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
};

test('the port that `recourse worker` is given wins over OPS_PORT of the environment, and is said', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const environment = { REDIS_URL: redis.url, OPS_PORT: String(await takePort()) };
  const worker = await startWorkerProcess({ by: 'node', words: ['worker', '--port', '0'], environment });
  const port = (await worker.logged('working'))['ops_port'];
  expect((await fetch(`http://127.0.0.1:${port}/live`)).status).toBe(200);
  await expect.poll(worker.stderr).toContain(`serves /live, /ready and /metrics on port ${port}.`);
});
