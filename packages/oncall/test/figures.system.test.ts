import { join } from 'node:path';
import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { Overview } from '#src/contract/contract.ts';

const CALLS = [
  { name: 'echo', arguments: { text: 'a' } },
  { name: 'echo', arguments: {} },
];

const echoOf = async ({ url }: { readonly url: string }) => {
  const { figures } = Overview.parse(await (await fetch(`${url}/overview`)).json());
  return figures.tools.filter(({ tool }) => tool === 'echo').map(({ calls, failures }) => [calls, failures]);
};

test('calls of a replica that was killed are counted for the rest of the hour, also by one that starts after it', {
  timeout: timeLimit(60_000),
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const start = () => startProcess({ by: 'node', environment: { REDIS_URL: redis.url, TOOL_HOSTS_MIN: '0' } });
  const [killed, other] = await Promise.all([start(), start()]);
  await callService(killed.url, CALLS);
  await expect.poll(() => echoOf(other), DEADLINE).toEqual([[2, 1]]);
  killed.send('SIGKILL', 'service');
  await killed.exited;
  await callService(other.url, CALLS);
  const next = await start();
  await expect.poll(() => echoOf(next), DEADLINE).toEqual([[4, 2]]);
  await expect.poll(() => echoOf(other), DEADLINE).toEqual([[4, 2]]);
});

test('a process on a file counts on what the one before it has counted', { timeout: timeLimit(60_000) }, async () => {
  const environment = { STORE: `sqlite:${join(makeDirectory().root, 'records.db')}`, TOOL_HOSTS_MIN: '0' };
  const start = () => startProcess({ by: 'node', environment });
  const before = await start();
  await callService(before.url, CALLS);
  before.send('SIGTERM', 'service');
  await before.exited;
  const after = await start();
  await callService(after.url, CALLS);
  await expect.poll(() => echoOf(after), DEADLINE).toEqual([[4, 2]]);
});
