import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Overview } from '@recourse/oncall/contract/contract';
import { createFolder, DEADLINE } from '@recourse/test-support/config-lab.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const TOOLS = `
import { defineTool } from 'recourse-server';
export const fail = defineTool({
  name: 'fail', description: '', effects: 'read', retries: 0,
  input: { type: 'object', additionalProperties: true },
  run: () => { throw new Error('connection refused'); },
});
`;

const overviewOf = async ({ url }: { readonly url: string }) => {
  const answer = await fetch(`${url}/overview`);
  return Overview.parse(await answer.json());
};

// It is silent when it has written nothing for 30 s.
const SILENT = { timeout: 30_000 + timeLimit(30_000), interval: 500 };

test('three processes and a worker know of each other; of two circuits of one tool there is one entry; one that is killed is named silent, one that stops is gone', {
  timeout: timeLimit(120_000),
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const directory = await createFolder();
  await writeFile(join(directory, 'fail.ts'), TOOLS);
  const environment = {
    ...{ REDIS_URL: redis.url, TOOLS_DIR: directory, CIRCUIT_FAILURES: '1', CIRCUIT_OPEN_MS: '600000' },
    ...{ TOOL_HOSTS_MIN: '0', STORE_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` },
  };
  const start = (more: Readonly<Record<string, string>> = {}) =>
    startProcess({ by: 'node', environment: { ...environment, ...more } });
  const worker = await startWorkerProcess({ by: 'node', environment });
  const [one, other, third] = await Promise.all([start(), start(), start({ ROLE: 'api' })]);
  const rolesOf = async () =>
    (await overviewOf(one)).replicas.map(
      ({ replica, role, is_silent }) => `${replica.split(':')[1]} ${role} ${is_silent}`,
    );
  const running = [one, other, third].map(({ pid }) => `${pid} service false`);
  await expect
    .poll(async () => (await rolesOf()).toSorted(), DEADLINE)
    .toEqual([...running, `${worker.pid} worker false`].toSorted());

  for (const { url } of [one, other]) await callService(url, [{ name: 'fail', arguments: {} }], {});
  // Written within a second, not with the next ten.
  const circuits = async () => (await overviewOf(third)).circuits;
  await expect
    .poll(circuits, DEADLINE)
    .toMatchObject([{ name: 'fail', state: 'open', replicas: [expect.any(String), expect.any(String)] }]);
  const pids = (await circuits()).flatMap(({ replicas }) => replicas.map((replica) => Number(replica.split(':')[1])));
  expect(pids.toSorted()).toEqual([one.pid, other.pid].toSorted());
  expect((await overviewOf(third)).lanes).toMatchObject([{ lane: 'default', workers: 3 }]);

  other.send('SIGKILL', 'service');
  third.send('SIGTERM', 'service');
  await Promise.all([other.exited, third.exited]);
  await expect
    .poll(async () => (await rolesOf()).toSorted(), SILENT)
    .toEqual([`${one.pid} service false`, `${other.pid} service true`, `${worker.pid} worker false`].toSorted());
  const { warnings, circuits: left } = await overviewOf(one);
  expect(warnings).toMatchObject([
    { code: 'replica_silent', replicas: [expect.stringMatching(new RegExp(`:${other.pid}$`))] },
  ]);
  expect(left).toMatchObject([{ name: 'fail', replicas: [expect.stringMatching(new RegExp(`:${one.pid}$`))] }]);
});
