import { type Actor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { readEvents } from '@recourse/test-support/stream-lab.ts';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

// Whatever happens to a call: who waits for it is answered, and a stream of it ends with `done`.

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const start = async (actors: readonly Pick<Actor, 'tool'>[], environment: Readonly<Record<string, string>>) => {
  const { service } = await startLab(actors, environment);
  const client = createPendingClient(service.url);
  /** Opens a stream; what each result that it tells came to, and its last event. */
  const follow = async (requestId: string): Promise<{ readonly told: Promise<readonly string[]> }> => {
    const answer = await fetch(`${service.url}/tool-calls/${requestId}/events`);
    return { told: answer.text().then(toTold) };
  };
  return { ...client, follow };
};

const toTold = (text: string): readonly string[] =>
  readEvents(text, 'sse')
    .filter(({ event }) => event === 'result' || event === 'done')
    .map(({ event, data }) => (event === 'done' ? 'done' : codeOf(Object(data))));

const codeOf = ({ error, outcome }: PendingAnswer['results'][number]): string => error?.code ?? outcome;

const codesOf = ({ results }: PendingAnswer): readonly string[] => results.map(codeOf);

const callOf = (name: string) => ({ name, arguments: { only: freshName() } });

describe.each(['memory', 'redis'] as const)('a call that no worker takes, on %s', (store) => {
  test('ends when its time is over: who waits is answered, and the stream ends', async () => {
    const busy = createHeldTool('busy', { effects: 'write' });
    const brief = createHeldTool('brief', { maxDurationMs: 300 });
    const none = { WORKER_CONCURRENCY: '1', ...(store === 'memory' ? {} : { REDIS_URL: redis.url, ROLE: 'api' }) };
    const { begin, finish, follow } = await start([busy, brief], none);
    await begin({ calls: [callOf('busy')] });
    const { requestId, results } = await begin({ calls: [callOf('brief')] });
    expect(results[0]).toMatchObject({ outcome: 'pending', pending: { state: 'queued' } });
    const { told } = await follow(requestId);
    const waited = await finish(requestId);
    expect(waited.results[0]).toMatchObject({ executed: 'no', error: { code: 'timeout' } });
    expect(await told).toEqual(['timeout', 'done']);
    expect(brief.asked).toEqual([]);
    busy.release();
  });
});

const connect = async (): Promise<Redis> => {
  const direct = await connectToRedis(redis.url);
  onTestFinished(() => direct.disconnect());
  return direct;
};

test('a call whose record vanishes is unknown: who waits is told, and the stream ends', async () => {
  const build = createHeldTool('build');
  const { begin, finish, follow } = await start([build], { REDIS_URL: redis.url });
  const { requestId, results } = await begin({ calls: [callOf('build')] });
  await build.begun();
  const direct = await connect();
  const waiting = finish(requestId);
  const { told } = await follow(requestId);
  const [result] = results;
  const keys = await direct.keys(`*${result?.outcome === 'pending' ? result.pending.call : 'none'}*:call`);
  expect(keys).toHaveLength(1);
  await direct.del(keys);
  expect(codesOf(await waiting)).toEqual(['outcome_unknown']);
  expect(await told).toEqual(['outcome_unknown', 'done']);
  build.release();
});

test('news that is lost costs who waits a second reading, and no more', async () => {
  const build = createHeldTool('build');
  const { begin, finish, follow } = await start([build], { REDIS_URL: redis.url });
  const { requestId } = await begin({ calls: [callOf('build')] });
  await build.begun();
  const direct = await connect();
  const waiting = finish(requestId);
  const { told } = await follow(requestId);
  let cuts = 0;
  const cutting = setInterval(() => {
    void direct.client('KILL', 'TYPE', 'PUBSUB').then((count) => {
      cuts += Number(count);
    });
  }, 2);
  onTestFinished(() => clearInterval(cutting));
  await expect.poll(() => cuts).toBeGreaterThan(2);
  build.release();
  expect(codesOf(await waiting)).toEqual(['success']);
  expect(await told).toEqual(['success', 'done']);
});
