import { Overview } from '@recourse/oncall/contract/contract';
import { REPLICA } from '@recourse/oncall/states/own-report';
import { createReportStore, replicasKind } from '@recourse/oncall/states/report-store';
import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createSealing } from '@recourse/test-support/sealing.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { Redis } from 'ioredis';
import { createMemoryRecordStore } from 'recourse-server/store/memory-record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect, onTestFinished, test } from 'vitest';

const HOUR_MS = 3_600_000;

const reportAt = (seenAt: number, replica = 'host:1') => ({
  ...({ replica, role: 'service', version: '0.2.0', started_at: 1, seen_at: seenAt } as const),
  ...{ loop_lag_ms: 1, heap_bytes: 1, calls_in_flight: 0, calls_queued: 0 },
  ...{ circuits: [], files: [], hosts: [], upstreams: [], lanes: [], missing_tools: [] },
  store: { kind: 'redis', status: 'up', used_bytes: null, max_bytes: null, policy: null } as const,
  ...{ stale_config: null, stale_keys: false, clock_ahead_ms: 0 },
});

const createStores = () => {
  const clock = { now: 10 * HOUR_MS };
  const stored = createMemoryRecordStore({ memory: roomyMemory(), now: () => clock.now }).open(replicasKind);
  const open = (sealing = NO_SEALING) => createReportStore(stored, sealing);
  const seen = async (store: ReturnType<typeof open>) => (await store.readOthers()).map(({ replica }) => replica);
  return { clock, open, seen };
};

test('a replica that has written nothing for an hour is forgotten, and one that stops at once', async () => {
  const { clock, open, seen } = createStores();
  const [one, other, third] = [open(), open(), open()];
  await one.write(reportAt(clock.now, 'one'));
  await other.write(reportAt(clock.now, 'other'));
  expect(await seen(third)).toEqual(['one', 'other']);
  expect(await seen(one)).toEqual(['other']);
  await other.forgetOwn();
  expect(await seen(third)).toEqual(['one']);
  clock.now += HOUR_MS - 1;
  await third.write(reportAt(clock.now, 'third'));
  expect(await seen(other)).toEqual(['one', 'third']);
  clock.now += 1;
  await third.write(reportAt(clock.now, 'third'));
  expect(await seen(other)).toEqual(['third']);
});

test('a process reads no report that is not sealed by a key of the store, and does not drop what it cannot open', async () => {
  const { clock, open, seen } = createStores();
  const [plain, old, both, next] = [NO_SEALING, ...[['k1'], ['k1', 'k2'], ['k2']].map((ids) => createSealing(ids))].map(
    open,
  );
  if (plain === undefined || old === undefined || both === undefined || next === undefined) throw new Error('Four.');
  await plain.write(reportAt(clock.now, 'plain'));
  await old.write(reportAt(clock.now, 'old'));
  await next.write(reportAt(clock.now, 'next'));
  expect(await seen(both)).toEqual(['old', 'next']);
  expect(await seen(old)).toEqual([]);
  await old.write(reportAt(clock.now, 'old'));
  expect(await seen(both)).toEqual(['old', 'next']);
  expect([old.open(both.seal('search')), next.open(both.seal('search')), next.open('search')]).toEqual([
    ...['search', null, null],
  ]);
});

test('what anything else has written into the record is left out, and the overview is answered', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const direct = new Redis(redis.url);
  onTestFinished(() => direct.disconnect());
  const service = await startService({ REDIS_URL: redis.url });
  onTestFinished(() => service.stop());
  const keys = () => direct.keys('*replicas*');
  await expect.poll(keys, DEADLINE).toHaveLength(1);
  const [key = ''] = await keys();
  const good = JSON.stringify(reportAt(Date.now(), 'good:7'));
  const texts = [
    ...['', 'junk', '1', '1 ', `${Date.now()} {}`, `${Date.now()} null`, `${Date.now()} [1]`],
    `${Date.now()} ${good.replace(/"seen_at":\d+/, '"seen_at":1e300')}`,
    `${Date.now()} ${good.replace('"circuits":[]', `"circuits":[${'{},'.repeat(300)}{}]`)}`,
    `${Date.now()} ${good.replace('"good:7"', '{"__proto__":1}')}`,
    `${Date.now()} ${good}`,
  ];
  await direct.hset(key, Object.fromEntries(texts.map((text, at) => [`r:${at.toString(16).padStart(16, '0')}`, text])));
  await direct.hset(key, 'v', 'another version');
  const names = async () => {
    const answer = await fetch(`${service.url}/overview`);
    return Overview.parse(await answer.json()).replicas.map(({ replica }) => replica);
  };
  await expect.poll(names, DEADLINE).toEqual([REPLICA, 'good:7']);
  // And its own report is written on.
  const written = () => direct.hlen(key);
  await expect.poll(written, DEADLINE).toBeLessThan(texts.length);
});
