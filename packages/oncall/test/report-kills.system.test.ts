import { askAs } from '@recourse/test-support/access-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ToolReports } from '#src/contract/contract.ts';

// A replica writes every ten seconds.
const WRITTEN = { timeout: timeLimit(30_000), interval: 200 };

const call = async ({ url }: RunningProcess, times: number): Promise<void> => {
  const calls = Array.from({ length: times }, () => ({ name: 'echo', arguments: {} }));
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ calls }),
  });
  expect(answer.status).toBe(200);
};

const countAt = async (service: RunningProcess): Promise<readonly number[]> => {
  const { status, text } = await askAs(service, null, '/reports/tools');
  if (status !== 200) return [status];
  const echo = ToolReports.parse(JSON.parse(text)).tools.find(({ tool }) => tool === 'echo');
  return [echo?.calls ?? 0, echo?.failures ?? 0, echo?.arguments[0]?.failures ?? 0];
};

test('three replicas add up, and what one has written outlives its kill', { timeout: timeLimit(120_000) }, async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const start = () => startProcess({ by: 'node', environment: { REDIS_URL: redis.url } });
  const [one, two, victim] = await Promise.all([start(), start(), start()]);
  for (const [at, service] of [one, two, victim].entries()) await call(service, at + 1);
  await expect.poll(() => countAt(one), WRITTEN).toEqual([6, 6, 6]);
  victim.send('SIGKILL', 'service');
  await victim.exited;
  await call(two, 4);
  await expect.poll(() => countAt(one), WRITTEN).toEqual([10, 10, 10]);
  two.send('SIGTERM', 'service');
  await two.exited;
  expect(await countAt(one)).toEqual([10, 10, 10]);
  // A replica that is stopped writes what it has not written.
  await call(one, 1);
  one.send('SIGTERM', 'service');
  await one.exited;
  expect(await countAt(await start())).toEqual([11, 11, 11]);
});
