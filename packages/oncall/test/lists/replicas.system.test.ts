import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createClient, failing, hashOfSession } from './lists-lab.ts';

const TOOL = `
  import { defineTool } from 'recourse-server';
  export const lookup = defineTool({
    name: 'lookup',
    description: 'Fails.',
    effects: 'read',
    retries: 1,
    input: { type: 'object', additionalProperties: true },
    run: ({ fail }) => {
      throw new Error(fail);
    },
  });
`;

test('a replica lists what another one has noted, resets it by its hash, and has it still when that one is killed', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const tools = makeDirectory();
  tools.write('lookup.ts', TOOL);
  const environment = { REDIS_URL: redis.url, TOOLS_DIR: tools.root, LOG_LEVEL: 'info' };
  const replicas = await Promise.all([1, 2].map(() => startProcess({ by: 'node', environment })));
  const [killed, stays] = replicas;
  if (killed === undefined || stays === undefined) throw new Error('There are two.');
  const [one, other] = [createClient(killed.url), createClient(stays.url)];
  for (const n of [1, 2, 3]) await one.post('run', [failing(n)]);
  const session = hashOfSession('run');
  await expect
    .poll(() => other.items('/sessions?state=blocked'))
    .toMatchObject([{ session, blocked_tools: ['lookup'], calls: 3, failures: 3 }]);
  killed.send('SIGKILL', 'service');
  await killed.exited;
  const calls = await other.items('/calls');
  expect(calls.map(({ code }) => code)).toEqual(['retry_budget_exhausted', 'tool_exception', 'tool_exception']);
  expect((await other.ask(`/sessions/~${session.slice(0, 8)}/budgets`, 'DELETE')).status).toBe(204);
  expect(await other.items('/sessions?state=blocked')).toEqual([]);
  await other.post('run', [failing(4)]);
  expect(await other.items('/sessions')).toMatchObject([{ session, state: 'failing', calls: 4, failures: 4 }]);
});
