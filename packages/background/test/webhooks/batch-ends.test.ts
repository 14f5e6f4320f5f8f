import { createCallSpec } from '@recourse/test-support/call-records-under-test.ts';
import { freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { DEADLINE, NEW_SECRET, type Received, startReceiver } from '@recourse/test-support/webhook-lab.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createNotifications } from '#src/pending-notifications.ts';
import type { WebhookEvent } from '#src/webhooks/webhooks.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const Message = z.object({ type: z.string(), data: z.object({ request_id: z.string() }) });

const requestsOf = (received: readonly Received[], type: string): readonly string[] =>
  received
    .map(({ body }) => Message.parse(JSON.parse(body)))
    .filter((message) => message.type === type)
    .map(({ data }) => data.request_id);

const BATCHES = 10;

describe.each(['memory', 'redis'] as const)('the end of a batch, on %s', (store) => {
  test('calls that end at once are told of one by one, and the end of each batch once', async () => {
    const receiver = await startReceiver();
    const events = ['tool_call.completed', 'tool_calls.completed'];
    const ops = { url: receiver.url, secret: NEW_SECRET, events, privateAddresses: 'allow' };
    const { root } = makeDirectory({ 'recourse.config.json': JSON.stringify({ webhooks: { ops } }) });
    const build = createHeldTool('build');
    const environment = { CONFIG_FILE: `${root}/recourse.config.json`, WORKER_CONCURRENCY: '64' };
    const lab = await startLab([build], store === 'memory' ? environment : { ...environment, REDIS_URL: redis.url });
    const { begin, finish } = createPendingClient(lab.service.url);
    const call = () => ({ name: 'build', arguments: { only: freshName() } });
    const batches = Array.from({ length: BATCHES }, () => begin({ notify: 'ops', calls: [call(), call(), call()] }));
    const ids = (await Promise.all(batches)).map(({ requestId }) => requestId);
    await build.begun(3 * BATCHES);
    build.release();
    await Promise.all(ids.map((id) => finish(id)));
    const isDone = () => [
      requestsOf(receiver.received, 'tool_call.completed').length,
      new Set(requestsOf(receiver.received, 'tool_calls.completed')).size,
    ];
    await expect.poll(isDone, DEADLINE).toEqual([3 * BATCHES, BATCHES]);
    // A second one would have been kept before the last one of them was sent.
    await expect.poll(() => lab.service.metric('recourse_webhooks_waiting{endpoint="ops"}'), DEADLINE).toBe(0);
    expect(requestsOf(receiver.received, 'tool_calls.completed').toSorted()).toEqual(ids.toSorted());
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(4 * BATCHES);
  });
});

const PENDING = '{"outcome":"pending","executed":"maybe","pending":{"call":"c_1"},"message":"","error":null}';
const ENDED = '{"outcome":"success","executed":"yes","message":"","error":null}';

const notifyOnce = async (answers: readonly (readonly (string | null)[] | null)[]) => {
  const emitted: WebhookEvent[] = [];
  const failures: unknown[] = [];
  const finds = [...answers];
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const notifications = createNotifications({
    webhooks: { emit: async (event) => void emitted.push(event) },
    keys: {
      find: async () => {
        const results = finds.shift() ?? null;
        if (finds.length === 0) resolve();
        return results === null ? null : { recordKey: 'r', results, isOpen: results.includes(null), isPromised: true };
      },
    },
    isEnded: async () => true,
    onFailed: (error) => failures.push(error),
    lookAgainMs: 1,
  });
  const { spec } = createCallSpec({ notify: 'ops' });
  notifications.ended(spec, ENDED);
  await asked;
  // What follows the last answer waits for nothing but promises.
  await new Promise((next) => setImmediate(next));
  expect(failures).toEqual([]);
  return { types: emitted.map(({ type }) => type), once: emitted.at(-1)?.once === spec.requestKey };
};

test('a call that ends before its answer is kept is looked at again; one that was answered with its end is not told of', async () => {
  expect(await notifyOnce([null, [null], [PENDING]])).toEqual({
    types: ['tool_call.completed', 'tool_calls.completed'],
    once: true,
  });
  expect((await notifyOnce([null, [ENDED]])).types).toEqual(['tool_call.completed']);
});

test('a receiver gets the first 512 characters of the id of a call, never half of one', async () => {
  const emitted: WebhookEvent[] = [];
  const notifications = createNotifications({
    webhooks: { emit: async (event) => void emitted.push(event) },
    keys: { find: async () => null },
    isEnded: async () => true,
    onFailed: () => undefined,
    lookAgainMs: 1,
  });
  for (const id of [`${'x'.repeat(511)}${'\u{1d4b3}'.repeat(9)}`, 'x'.repeat(512), 7, null])
    notifications.accepted(createCallSpec({ notify: 'ops', id }).spec);
  const first = `${'x'.repeat(511)}\u{1d4b3}`;
  expect(emitted.map(({ data }) => data['call_id'])).toEqual([first, 'x'.repeat(512), 7, null]);
});
