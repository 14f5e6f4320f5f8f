import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { runToEnd, startProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const KEY = 'the-key-of-tenant-a-012345';
const TOOL = `import { defineTool } from 'recourse';
  export const work = defineTool({
    name: 'work',
    description: 'Says that it ran.',
    effects: 'write',
    background: 'always',
    input: { type: 'object', additionalProperties: true },
    run: () => 'ran',
  });`;

test(
  'a worker that knows no API keys runs no call of one: it gives such calls back, and does not start where some are pending',
  async () => {
    const redis = await startRedisServer();
    onTestFinished(redis.stop);
    const environment = { REDIS_URL: redis.url, TOOLS_DIR: makeDirectory({ 'work.ts': TOOL }).root };
    const keys = { API_KEYS: toKeyEntry('a', KEY) };
    const service = await startProcess({ by: 'node', environment: { ...environment, ...keys, ROLE: 'api' } });
    const { begin, ask, finish } = createPendingClient(service.url);
    const headers = { authorization: `Bearer ${KEY}` };
    const keyless = await startWorkerProcess({ by: 'node', environment });
    const { requestId } = await begin({ calls: [{ name: 'work', arguments: {} }] }, { headers });
    const told = await keyless.logged(
      'calls given back: pending calls came with API keys, and this process knows none, so it cannot tell whether they may still run: set API_KEYS_FILE or API_KEYS as for the services',
    );
    expect(told).toMatchObject({ level: 50, tenant: 'a', tool: 'work' });
    expect((await ask(`/tool-calls/${requestId}`, { headers })).state).toBe('pending');
    const refused = await runToEnd({ by: 'node', environment: { ...environment, ROLE: 'worker', PORT: '0' } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('ROLE=worker: pending calls came with API keys, and this process knows none'),
    ]);
    keyless.send('SIGTERM', 'service');
    await keyless.exited;
    await startWorkerProcess({ by: 'node', environment: { ...environment, ...keys } });
    expect((await finish(requestId, headers)).results[0]?.value).toBe('ran');
  },
  timeLimit(90_000),
);
