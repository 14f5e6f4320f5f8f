import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPythonClient } from '#test/clients/contract/python-client.ts';
import { startTypescriptClient } from '#test/clients/contract/typescript-client.ts';
import {
  AnyCalls,
  askInEveryWay,
  askMcp,
  askPlainly,
  type Calls,
  GIVE,
  saysTheSameInFormat,
  toMcp,
  toSaid,
} from './lookalikes.ts';

const clients = [startTypescriptClient(), startPythonClient()];
let redis: RedisForTests;
let services: Readonly<Record<'memory' | 'redis', RunningService>>;
beforeAll(async () => {
  redis = await redisForTests();
  const start = (environment: Readonly<Record<string, string>>) =>
    startService({ CIRCUIT_FAILURES: '0', KEY_MAX_PENDING: '1000000', ...environment }, [GIVE]);
  services = { memory: await start({}), redis: await start({ REDIS_URL: redis.url }) };
});
afterAll(async () => {
  for (const { stop } of [...clients, services.memory, services.redis, redis]) await stop();
});

/** The results of a stream as a client folds them: by a call that is answered at once, and by one that goes on. */
const streamByClients = async (url: string, calls: Calls): Promise<readonly (readonly string[])[]> => {
  const streams = [{}, { respond_async: { wait_ms: 0 } }].map((options) => ({ do: 'stream', calls, options }) as const);
  const outcomes = await Promise.all(clients.map(({ run }) => run({ url, operations: streams })));
  return outcomes.flat().map(({ returns }) => {
    const events: readonly unknown[] = Object(returns).events;
    expect(Object(events.at(-1))).toMatchObject({ event: 'done', data: { status: 'done' } });
    return events
      .map((one) => Object(one))
      .filter(({ event }) => event === 'result')
      .map(({ data }) => data)
      .toSorted((a, b) => a.index - b.index)
      .map(toSaid);
  });
};

test.each(['memory', 'redis'] as const)(
  'whatever a value looks like, each way of an answer says of it what the plain body says (%s)',
  async (store) => {
    const { url } = services[store];
    await fc.assert(
      fc.asyncProperty(AnyCalls, async (calls) => {
        const said = await askPlainly(url, calls);
        const ways = [...(await askInEveryWay(url, calls)), ...(await streamByClients(url, calls))];
        expect(ways).toEqual(Array.from({ length: 14 }, () => said));
        expect(await askMcp(url, calls)).toEqual([toMcp(said[0]), toMcp(said[0])]);
      }),
      { numRuns: 150 },
    );
  },
  timeLimit(300_000),
);

test.each(ALL_FORMATS)(
  'and each way of an answer gives the model the same messages (%s)',
  async (format) => {
    const { url } = services.memory;
    await fc.assert(saysTheSameInFormat(url, format), { numRuns: 30 });
  },
  timeLimit(120_000),
);
