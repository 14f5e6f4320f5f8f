import { setTimeout as pause } from 'node:timers/promises';
import {
  createCallSpec,
  createMemoryCallsUnderTest,
  createRedisCallsUnderTest,
  DEAF,
  look,
  SURE,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { toResult } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { CallWaiters } from '#src/call-waiters.ts';
import type { CallRecords } from '#src/calls/call-records.ts';
import type { Job, JobEnd, JobQueue } from '#src/jobs/job-queue.ts';
import { createMemoryJobQueue } from '#src/jobs/memory-job-queue.ts';
import { handleOfSpec, PendingService } from '#src/pending-service.ts';

const watchedByNobody = async (): Promise<void> => undefined;

const redis = useRedis();
const WAIT = { timeout: timeLimit(20_000), interval: 20 };
const DONE: JobEnd = { kind: 'done' };

const startService = (
  records: CallRecords,
  run: (job: Job) => Promise<JobEnd> = async () => DONE,
  queue: JobQueue = createMemoryJobQueue(),
) => {
  const accepted: string[] = [];
  const failures: unknown[] = [];
  const service = new PendingService({
    records,
    queue,
    run,
    laneOf: () => 'default',
    time: Date.now,
    onAccepted: (spec) => void accepted.push(handleOfSpec(spec)),
    onFailed: (error) => void failures.push(error),
  });
  onTestFinished(() => queue.close());
  onTestFinished(service.close);
  return { service, queue, accepted, failures };
};

/** A call under the key that the service gives it. */
const createAsked = (parts: Parameters<typeof createCallSpec>[0] = {}) => {
  const { spec } = createCallSpec(parts);
  return { spec, handle: handleOfSpec(spec), key: `${spec.tenant}:${handleOfSpec(spec)}` };
};

const createRecords = async (): Promise<CallRecords> => (await createRedisCallsUnderTest(redis(), DEAF)).records;

/** Records whose next confirmations are applied, and whose answers get lost. */
const loseAnswers = (records: CallRecords, lost: { confirm: number; withdraw: number }): CallRecords => {
  const lose = async <Answer>(step: keyof typeof lost, answer: Promise<Answer>): Promise<Answer> => {
    const known = await answer;
    lost[step] -= 1;
    if (lost[step] >= 0) throw new Error('Command timed out');
    return known;
  };
  return {
    durability: records.durability,
    holdsArguments: records.holdsArguments,
    create: (key, spec) => records.create(key, spec),
    versions: (keys) => records.versions(keys),
    heads: (keys) => records.heads(keys),
    describe: (key) => records.describe(key),
    settle: (key, result) => records.settle(key, result),
    publishPart: (lease, valueJson) => records.publishPart(lease, valueJson),
    confirm: (key) => lose('confirm', records.confirm(key)),
    unblock: (key) => records.unblock(key),
    withdraw: (key) => (lost.withdraw > 0 ? lose('withdraw', Promise.resolve()) : records.withdraw(key)),
    find: (key) => records.find(key),
    claim: (key) => records.claim(key),
    begin: (lease) => records.begin(lease),
    renew: (lease, progress) => records.renew(lease, progress),
    release: (lease, lackedAt) => records.release(lease, lackedAt),
    commit: (lease, result, how) => records.commit(lease, result, how),
    cancel: (key, how) => records.cancel(key, how),
    due: (most) => records.due(most),
    enterAgain: (key, spec, afterMs) => records.enterAgain(key, spec, afterMs),
    onReturn: (listener) => records.onReturn(listener),
    signals: records.signals,
    sessions: records.sessions,
    live: records.live,
  };
};

test('a call whose confirmation was applied without an answer never runs, and is accepted when it is sent again', async () => {
  const records = await createRecords();
  const { spec, key } = createAsked();
  const { service, accepted } = startService(loseAnswers(records, { confirm: 1, withdraw: 2 }));
  expect(await service.accept(spec, watchedByNobody, 60_000)).toEqual({ kind: 'unavailable' });
  expect(accepted).toEqual([]);
  await expect.poll(() => records.find(key), WAIT).toBeNull();
  expect((await service.accept(spec, watchedByNobody, 60_000)).kind).toBe('accepted');
  expect(await look(records, key)).toMatchObject({ state: 'queued', cancel: 'no' });
  expect(accepted).toEqual([handleOfSpec(spec)]);
});

test('a record that is gone before it is confirmed is no accepted call', async () => {
  const records = await createRecords();
  const { spec, key } = createAsked();
  const creating: CallRecords = {
    ...loseAnswers(records, { confirm: 0, withdraw: 0 }),
    create: async (...words) => {
      const created = await records.create(...words);
      await redis().del(`recourse2:{${key}}:call`);
      return created;
    },
  };
  const { service, accepted } = startService(creating);
  expect(await service.accept(spec, watchedByNobody, 60_000)).toEqual({ kind: 'unavailable' });
  expect(accepted).toEqual([]);
});

test('what was just accepted is told without being read again, and what an earlier try accepted as it is now', async () => {
  const records = await createRecords();
  const { spec, key, handle } = createAsked({ acceptedAt: 1_700_000_000_000, expiresAt: 1_700_000_060_000 });
  let reads = 0;
  const counting: CallRecords = {
    ...loseAnswers(records, { confirm: 0, withdraw: 0 }),
    find: (one) => {
      reads += 1;
      return records.find(one);
    },
  };
  const { service } = startService(counting);
  const first = await service.accept(spec, watchedByNobody, 60_000);
  expect(first).toMatchObject({
    call: {
      handle,
      state: {
        kind: 'pending',
        pending: {
          call: handle,
          state: 'queued',
          since: '2023-11-14T22:13:20.000Z',
          expires_at: '2023-11-14T22:14:20.000Z',
          progress: null,
        },
      },
    },
  });
  expect(reads).toBe(0);
  const result = toResult(0, 1);
  await records.commit((await take(records, key)).lease, result, SURE);
  expect(await service.accept(spec, watchedByNobody, 60_000)).toMatchObject({
    call: { handle, state: { kind: 'ended', result } },
  });
});

test('a call that a sweep could not queue is offered again by the next one, and then not before it is due', async () => {
  const { records, pass } = await createMemoryCallsUnderTest();
  const offered: string[] = [];
  const memory = createMemoryJobQueue();
  const { service, failures } = startService(records, undefined, {
    offer: (job) => memory.offer(job),
    offerAgain: async ({ call }) => {
      offered.push(call);
      if (offered.length === 1) throw new Error('Redis is not connected');
    },
    cancel: (job) => memory.cancel(job),
    take: (lanes, take) => memory.take(lanes, take),
    lanes: () => memory.lanes(),
    close: () => memory.close(),
  });
  const { spec, handle } = createAsked();
  await service.accept(spec, watchedByNobody, 60_000);
  for (const ms of [2001, 1001, 1001]) {
    await pass(ms);
    await service.sweep();
  }
  expect(offered).toEqual([handle, handle]);
  expect(failures).toHaveLength(1);
});

test('a service that is closed begins no call again that could not run before', async () => {
  const { records } = await createMemoryCallsUnderTest();
  let runs = 0;
  const run = async (): Promise<JobEnd> => {
    runs += 1;
    return { kind: 'later', afterMs: 1 };
  };
  const { service } = startService(records, run);
  await service.accept(createAsked({ background: 'never' }).spec, watchedByNobody, 60_000);
  await expect.poll(() => runs, WAIT).toBeGreaterThan(2);
  service.close();
  const before = runs;
  await pause(50);
  expect(runs).toBeLessThanOrEqual(before + 1);
});

test('who waits hears of an end at once, also where the record was being read when it ended', async () => {
  const { records } = await createMemoryCallsUnderTest();
  const { spec, key } = createAsked();
  await records.create(key, spec);
  await records.confirm(key);
  const gate = Promise.withResolvers<void>();
  let reads = 0;
  const slow: CallRecords = {
    ...loseAnswers(records, { confirm: 0, withdraw: 0 }),
    // As a store that answers late: with what was when it was asked.
    find: async (one) => {
      reads += 1;
      const record = await records.find(one);
      const copy = record === null ? null : { ...record };
      if (reads === 1) await gate.promise;
      return copy;
    },
  };
  const waiters = new CallWaiters({ records: slow, time: Date.now, endOverdue: async () => false });
  onTestFinished(waiters.close);
  const waited = waiters.untilEnded(key, 600_000);
  await expect.poll(() => reads, WAIT).toBe(1);
  await records.commit((await take(records, key)).lease, '{"value":1}', SURE);
  gate.resolve();
  expect((await waited)?.result).toBe('{"value":1}');
  expect(waiters.count()).toBe(0);
});
