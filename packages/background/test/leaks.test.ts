import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyedClient, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { answerWith, NEW_SECRET, type Receiver, startReceiver } from '@recourse/test-support/webhook-lab.ts';
import { Redis } from 'ioredis';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { RetryableToolError } from 'recourse-server/internal/tools/tool-errors.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const CANARY = { argument: `a${randomBytes(12).toString('hex')}`, value: `v${randomBytes(12).toString('hex')}` };
const findCanaries = (texts: readonly string[]): readonly string[] =>
  texts.filter((text) => text.includes(CANARY.argument) || text.includes(CANARY.value));

const give = defineTool({
  name: 'give',
  description: 'Gives a value, or fails with one.',
  effects: 'write',
  background: 'always',
  input: z.object({ text: z.string(), fails: z.boolean() }),
  run: ({ fails }, { progress }) => {
    progress({ progress: 1, total: 2, message: 'half' });
    if (fails) throw new RetryableToolError('Not now.', { value: { text: CANARY.value } });
    return { text: CANARY.value };
  },
});

const EVENTS = ['tool_call.pending', 'tool_call.completed', 'tool_calls.completed'];
const endpointAt = ({ url }: Receiver) => ({ url, secret: NEW_SECRET, events: EVENTS, privateAddresses: 'allow' });

/** A service that runs no calls, and a worker, over one Redis. */
const start = async (endpoints: Readonly<Record<string, Receiver>>) => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const file = join(makeDirectory().root, 'recourse.config.json');
  const webhooks = Object.entries(endpoints).map(([name, receiver]) => [name, endpointAt(receiver)]);
  writeFileSync(file, JSON.stringify({ webhooks: Object.fromEntries(webhooks) }));
  const environment = { REDIS_URL: redis.url, CONFIG_FILE: file, LOG_LEVEL: 'trace' };
  const service = await startService({ ...environment, ROLE: 'api' }, [give]);
  onTestFinished(service.stop);
  await whenConnected(createKeyedClient(service.url));
  return {
    redis,
    service,
    ...createPendingClient(service.url),
    startWorker: async () => {
      const worker = await startService({ ...environment, ROLE: 'worker' }, [give]);
      onTestFinished(worker.stop);
      return worker;
    },
  };
};

/** Everything in the queues: keys of every type. */
const dumpQueues = async (redis: Redis): Promise<readonly string[]> => {
  const read = {
    string: (key: string) => redis.get(key),
    hash: (key: string) => redis.hgetall(key),
    list: (key: string) => redis.lrange(key, 0, -1),
    set: (key: string) => redis.smembers(key),
    zset: (key: string) => redis.zrange(key, '0', '-1'),
    stream: (key: string) => redis.xrange(key, '-', '+'),
  };
  const Type = z.enum(['string', 'hash', 'list', 'set', 'zset', 'stream', 'none']);
  const keys = await redis.keys('recourse2:{jobs:*');
  return Promise.all(
    keys.map(async (key) => {
      const type = Type.parse(await redis.type(key));
      return type === 'none' ? key : `${key} ${JSON.stringify(await read[type](key))}`;
    }),
  );
};

const call = (fails: boolean) => ({ name: 'give', arguments: { text: CANARY.argument, fails } });

test('neither arguments nor values are in a queue, in a webhook or in a log', async () => {
  const receiver = await startReceiver();
  const { redis, service, begin, finish, startWorker } = await start({ ops: receiver });
  const direct = new Redis(redis.url);
  const monitor = await direct.monitor();
  onTestFinished(() => {
    monitor.disconnect();
    direct.disconnect();
  });
  const commands: string[] = [];
  monitor.on('monitor', (_time, words: readonly string[]) => void commands.push(words.join(' ')));

  const wrong = { name: 'give', arguments: { text: { [CANARY.argument]: CANARY.argument }, fails: false } };
  const { requestId } = await begin({ notify: 'ops', calls: [call(false), call(true), wrong] });
  const queued = await dumpQueues(direct);
  expect(queued.some((entry) => entry.includes(':c_'))).toBe(true);
  const worker = await startWorker();
  const { results } = await finish(requestId);
  expect(results.map(({ outcome }) => outcome)).toEqual(['success', 'retry', 'retry']);
  expect(JSON.stringify(results)).toContain(CANARY.value);
  await expect.poll(() => receiver.received.length, { timeout: timeLimit(20_000) }).toBeGreaterThanOrEqual(5);

  const ofQueues = commands.filter((words) => words.includes('{jobs:'));
  expect(ofQueues.some((words) => words.includes('moveToFinished') || words.includes('evalsha'))).toBe(true);
  // They are in the records.
  expect(findCanaries(commands).length).toBeGreaterThan(0);
  expect(findCanaries([...queued, ...(await dumpQueues(direct)), ...ofQueues])).toEqual([]);
  expect(
    findCanaries(receiver.received.flatMap(({ body, headers, path }) => [body, JSON.stringify(headers), path])),
  ).toEqual([]);
  const lines = [...service.logLines(), ...worker.logLines()].map((line) => JSON.stringify(line));
  expect(lines.some((line) => line.includes('give'))).toBe(true);
  expect(findCanaries(lines)).toEqual([]);
});

test('webhooks go to configured addresses alone: not where a redirect points, and to no address of the caller', async () => {
  const other = await startReceiver();
  const moved = await startReceiver(answerWith(307, { location: other.url }));
  const { begin, finish, startWorker } = await start({ moved, other });
  await startWorker();
  for (const notify of ['unknown', other.url, `${other.url}#moved`])
    expect(await begin({ notify, calls: [call(false)] })).toMatchObject({ status: 400 });
  const { requestId } = await begin({ notify: 'moved', calls: [call(false)] });
  expect((await finish(requestId)).results[0]?.outcome).toBe('success');
  await expect.poll(() => moved.received.length, { timeout: timeLimit(20_000) }).toBeGreaterThanOrEqual(2);
  // One that is its own comes.
  const named = await begin({ notify: 'other', calls: [call(false)] });
  await expect.poll(() => other.received.length, { timeout: timeLimit(20_000) }).toBeGreaterThanOrEqual(3);
  expect(other.received.filter(({ body }) => !body.includes(named.requestId))).toEqual([]);
});
