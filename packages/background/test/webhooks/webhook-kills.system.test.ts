import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { answerWith, endpointAt, NEW_SECRET, startReceiver } from '@recourse/test-support/webhook-lab.ts';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test, vi } from 'vitest';

const MESSAGES = 20;
// The lease of a message whose process was killed is over after 30 s.
const DEADLINE = { timeout: timeLimit(120_000), interval: 100 };

const indexOf = (body: string): number => Number(/"index":(\d+)/.exec(body)?.[1]);

test('a service killed in the middle of its deliveries loses no message: the next one delivers all, under their ids', {
  timeout: timeLimit(200_000),
}, async () => {
  const redis = await startRedisServer();
  const folder = await mkdtemp(join(tmpdir(), 'recourse-kills-'));
  onTestFinished(async () => {
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  });
  // The first three are delivered, the next four never answered: that is where the process dies.
  let isBack = false;
  const receiver = await startReceiver((response, count) => {
    if (count <= 3 || isBack) answerWith(200)(response, count);
  });
  const path = join(folder, 'recourse.config.json');
  await writeFile(path, JSON.stringify({ webhooks: { ops: endpointAt(receiver.url) } }));
  const environment = { CONFIG_FILE: path, REDIS_URL: redis.url };
  const first = await startProcess({
    by: 'test/support/emitting-service.ts',
    environment: { ...environment, EMIT: String(MESSAGES) },
  });
  await vi.waitFor(() => expect(receiver.received).toHaveLength(7), DEADLINE);
  first.send('SIGKILL', 'service');
  await first.exited;
  isBack = true;
  await startProcess({ by: 'test/support/emitting-service.ts', environment });
  await vi.waitFor(
    () => expect(new Set(receiver.received.slice(7).map(({ body }) => indexOf(body))).size).toBe(MESSAGES - 3),
    DEADLINE,
  );
  const idsOf = new Map<number, Set<string>>();
  for (const { body, headers } of receiver.received) {
    new Webhook(NEW_SECRET).verify(body, { ...headers });
    const ids = idsOf.get(indexOf(body)) ?? new Set();
    idsOf.set(indexOf(body), ids.add(headers['webhook-id'] ?? ''));
  }
  expect([...idsOf.keys()].toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: MESSAGES }, (_, index) => index),
  );
  expect([...idsOf.values()].map((ids) => ids.size)).toEqual(Array.from({ length: MESSAGES }, () => 1));
  // Those that were delivered before are not sent again.
  const delivered = receiver.received.slice(0, 3).map(({ body }) => indexOf(body));
  expect(receiver.received.slice(7).filter(({ body }) => delivered.includes(indexOf(body)))).toEqual([]);
});
