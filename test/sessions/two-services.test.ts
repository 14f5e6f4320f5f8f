import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { type RedisForTests, redisForTests } from '#test/support/redis-server.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';

const ran = { failing: 0 };
const failing = defineTool({
  name: 'failing',
  description: 'Fails, a little later.',
  effects: 'read',
  retries: 3,
  input: z.object({}),
  run: async () => {
    ran.failing += 1;
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('no');
  },
});

let redis: RedisForTests;
let services: RunningService[];

beforeAll(async () => {
  redis = await redisForTests();
  const environment = { REDIS_URL: redis.url, LOG_LEVEL: 'warn' };
  services = [await startService(environment, [failing]), await startService(environment, [failing])];
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await redis.stop();
});

const fail = async (service: RunningService, session: string) => {
  const [result] = await service.call([{ name: 'failing' }], { session_id: session });
  if (result === undefined) throw new Error('There is no result.');
  return result;
};

let bursts = 0;

/** One failed batch, then fifty at both services at once, in a new session. */
const burst = async () => {
  bursts += 1;
  const session = `burst ${process.pid} ${bursts}`;
  ran.failing = 0;
  const results = await Promise.all(services.slice(0, 1).map((service) => fail(service, session)));
  const batches = Array.from({ length: 25 }, () => services.map((service) => fail(service, session))).flat();
  results.push(...(await Promise.all(batches)));
  for (const service of services) results.push(await fail(service, session));
  return { results, ran: ran.failing };
};

test('two services on one Redis share one budget: of fifty failing batches at once exactly three run', async () => {
  let played = await burst();
  // Where Redis got no processor for 50 ms a service counted by itself, which is another story: play again.
  for (let again = 0; again < 20 && played.results.some(({ retry }) => retry?.mode !== 'redis'); again += 1)
    played = await burst();
  const { results } = played;
  expect(new Set(results.map(({ retry }) => retry?.mode))).toEqual(new Set(['redis']));
  expect(played.ran).toBe(1 + 3);
  const codes = results.map(({ error }) => error?.code);
  expect(codes.filter((code) => code === 'tool_exception')).toHaveLength(1 + 3);
  expect(codes.filter((code) => code === 'retry_budget_exhausted')).toHaveLength(47 + 2);
  const last = results.at(-1);
  expect(last).toMatchObject({ outcome: 'refused', retry: { allowed: false, used: 3, remaining: 0 } });
  expect(last?.message).toMatch(/^Tool 'failing' failed 4 times in a row and is blocked for this session\./);
});
