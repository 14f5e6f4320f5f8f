import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { SLOTS, startBesideMany, TENANTS } from './fairness.ts';

const toTool = (ledger: string, go: string): string => `
  import { appendFileSync, existsSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse-server';
  export const hold = defineTool({
    name: 'hold',
    description: 'Waits for a file.',
    effects: 'read',
    background: 'always',
    input: z.object({ of: z.string(), id: z.number() }),
    run: async ({ of }) => {
      appendFileSync(${JSON.stringify(ledger)}, of + '\\n');
      while (!existsSync(${JSON.stringify(go)})) await pause(10);
      return of;
    },
  });
`;

test(
  'a tenant has 1,000 calls queued in Redis, and those that run in a worker process do not end: the first call of another begins at once',
  async () => {
    const redis = await startRedisServer();
    onTestFinished(redis.stop);
    const files = makeDirectory({ ledger: '' });
    const [ledger, go] = [join(files.root, 'ledger'), join(files.root, 'go')];
    const tools = makeDirectory({ 'hold.ts': toTool(ledger, go) });
    const environment = {
      ...TENANTS,
      REDIS_URL: redis.url,
      TOOLS_DIR: tools.root,
      WORKER_CONCURRENCY: String(SLOTS),
      LOG_LEVEL: 'info',
    };
    const service = await startProcess({ by: 'node', environment: { ...environment, ROLE: 'api' } });
    await startWorkerProcess({ by: 'node', environment });
    expect(existsSync(go)).toBe(false);
    const started = () => readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
    expect(await startBesideMany({ url: service.url, started })).toEqual(['a', 'a', 'a', 'b']);
    writeFileSync(go, '');
  },
  timeLimit(90_000),
);
