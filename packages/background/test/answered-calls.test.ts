import {
  createCallSpec,
  createMemoryCallsUnderTest,
  SURE,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { readResult } from 'recourse-server/internal/executor/stored-result.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createAnsweredCalls } from '#src/answered-calls.ts';
import { createMemoryJobQueue } from '#src/jobs/memory-job-queue.ts';
import { handleOfSpec, PendingService } from '#src/pending-service.ts';

const watchedByNobody = async (): Promise<void> => undefined;

const WAIT = { timeout: timeLimit(20_000), interval: 5 };

/** Two calls that no worker runs, and their results as a batch was answered them. */
const startLab = async () => {
  const { records } = await createMemoryCallsUnderTest();
  const queue = createMemoryJobQueue();
  const service = new PendingService({
    records,
    queue,
    run: async () => ({ kind: 'done' }),
    laneOf: () => 'default',
    time: Date.now,
    onAccepted: () => undefined,
    onFailed: () => undefined,
  });
  onTestFinished(() => queue.close());
  onTestFinished(service.close);
  const accept = async (index: number) => {
    const { spec } = createCallSpec({ index });
    await service.accept(spec, watchedByNobody, 60_000);
    const [call, key] = [handleOfSpec(spec), `${spec.tenant}:${handleOfSpec(spec)}`];
    const answered = JSON.stringify({
      ...{ index, id: 'call_1', name: 'x', success: false, outcome: 'pending', executed: 'no', value: null },
      ...{ message: 'pending', error: null, retry: null, pending: { call }, duration_ms: 0 },
    });
    return { key, answered, recordKey: spec.recordKey };
  };
  const [first, second] = [await accept(0), await accept(1)];
  const end = async ({ key }: typeof first) => {
    const { lease } = await take(records, key);
    await records.commit(lease, JSON.stringify({ index: 0, id: 'call_1', name: 'x', outcome: 'success' }), SURE);
  };
  const answers = createAnsweredCalls({ service, time: Date.now });
  return { service, answers, end, first, second, answered: [first.answered, second.answered].map(readResult) };
};

test('a reader that has gone waits for nothing any more', async () => {
  const { service, answers, answered } = await startLab();
  const gone = Promise.withResolvers<void>();
  const read = answers.read(
    'tenant',
    { results: answered, isPromised: true },
    { waitMs: 30_000, until: 'all', over: gone.promise },
  );
  await expect.poll(service.waiters.count, WAIT).toBe(2);
  gone.resolve();
  expect(await read).toMatchObject({ status: 'pending' });
  await expect.poll(service.waiters.count, WAIT).toBe(0);
});

test('a reader that waits for any call waits for no other once it has one', async () => {
  const { service, answers, end, first, answered } = await startLab();
  const over = Promise.withResolvers<void>().promise;
  const read = answers.read('tenant', { results: answered, isPromised: true }, { waitMs: 30_000, until: 'any', over });
  await expect.poll(service.waiters.count, WAIT).toBe(2);
  await end(first);
  expect(await read).toMatchObject({ status: 'pending', late: [{ json: expect.stringContaining('success') }] });
  await expect.poll(service.waiters.count, WAIT).toBe(0);
});

test('the body of calls that have ended is the same before their batch is answered as pending, and after that', async () => {
  const { answers, end, first } = await startLab();
  await end(first);
  const found = { recordKey: first.recordKey, isPromised: true };
  const readBody = async (kept: string | null, isOpen: boolean) => {
    const results = await answers.complete('tenant', { ...found, results: [kept], isOpen });
    const { status, results: now } = await answers.read(
      'tenant',
      { results: (results ?? []).map(readResult), isPromised: found.isPromised },
      null,
    );
    return { status, results: now };
  };
  const before = await readBody(null, true);
  expect(before).toMatchObject({ status: 'done', results: [{ json: expect.stringContaining('success') }] });
  expect(await readBody(first.answered, false)).toEqual(before);
});
