import { failureOf } from '@recourse/test-support/http-target.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { startTcpProxy, type TcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createRecourse, RecourseError } from '../../../clients/typescript/src/client.ts';
import { createNoteTool, createWatchedFetch, type NoteTool } from './lossy-lab.ts';

const PATIENCE = { timeout: timeLimit(90_000) };
const POLL = { timeout: timeLimit(20_000), interval: 10 };

const CALL = { id: 'call_0', name: 'write_note', arguments: { note: 'once' } };
const NOTES = [CALL];

/** A real service process with a tool that writes, and a network before it that a test can break. */
const startLossyService = async (
  notes: NoteTool = createNoteTool(),
): Promise<{ readonly notes: NoteTool; readonly proxy: TcpProxy; readonly url: string }> => {
  const service = await startProcess({ by: 'node', environment: notes.environment });
  const proxy = await startTcpProxy({ to: service.port });
  onTestFinished(proxy.close);
  return { notes, proxy, url: `http://127.0.0.1:${proxy.port}` };
};

test('a write whose answer is lost runs once, and its result comes with a later attempt', PATIENCE, async () => {
  const { notes, proxy, url } = await startLossyService();
  const { fetch, attempts, statuses } = createWatchedFetch();
  const running = createRecourse({ url, fetch }).execute(NOTES, { sessionId: 'lost' });
  await expect.poll(() => notes.runs('once'), POLL).toBe(1);
  proxy.cut();
  // While it still runs the key is taken: the client waits as long as it is told to.
  await expect.poll(statuses, POLL).toContain(409);
  notes.letGo();
  const answer = await running;
  expect(answer.results).toMatchObject([{ id: 'call_0', success: true, value: 'once', replayed: true }]);
  expect(answer.replayed).toBe(true);
  expect(answer.attempts).toBe(attempts.length);
  expect(statuses().at(0)).toBe(null);
  expect(statuses().at(-1)).toBe(200);
  expect(notes.runs('once')).toBe(1);
  // Every attempt was the same request, to the byte.
  expect(new Set(attempts.map(({ key, requestId, body }) => `${key} ${requestId} ${body}`)).size).toBe(1);
  expect(answer).toMatchObject({ idempotencyKey: attempts[0]?.key, requestId: attempts[0]?.requestId });
});

test(
  'a connection that swallows the answer is given up after the deadline, and the write runs once',
  PATIENCE,
  async () => {
    const { notes, proxy, url } = await startLossyService();
    const { fetch, statuses } = createWatchedFetch();
    const running = createRecourse({ url, fetch }).execute(NOTES, { deadlineMs: 2_000 });
    await expect.poll(() => notes.runs('once'), POLL).toBe(1);
    proxy.drop();
    notes.letGo();
    await expect.poll(() => statuses().length, POLL).toBe(2);
    proxy.deliver();
    const answer = await running;
    expect(answer).toMatchObject({ replayed: true, results: [{ success: true, value: 'once' }] });
    expect(notes.runs('once')).toBe(1);
  },
);

test('a service that is away for a moment is waited for', PATIENCE, async () => {
  const { notes, proxy, url } = await startLossyService();
  notes.letGo();
  proxy.refuse();
  const { fetch, statuses } = createWatchedFetch();
  const running = createRecourse({ url, fetch }).execute(NOTES);
  await expect.poll(() => statuses().length, POLL).toBe(3);
  await proxy.accept();
  const answer = await running;
  expect(answer).toMatchObject({ replayed: false, results: [{ success: true }] });
  expect(statuses().slice(0, 2)).toEqual([null, null]);
  expect(notes.runs('once')).toBe(1);
});

test('when time is up the error says that it may have run, and what is needed to ask later', PATIENCE, async () => {
  const { notes, proxy, url } = await startLossyService();
  const recourse = createRecourse({ url });
  const failing = failureOf(recourse.execute(NOTES, { timeoutMs: 8_000 }));
  await expect.poll(() => notes.runs('once'), POLL).toBe(1);
  proxy.refuse();
  proxy.cut();
  const error = await failing;
  if (!(error instanceof RecourseError)) throw error;
  expect(error).toMatchObject({ code: 'no_answer', status: null, problem: null, mayHaveRun: true });
  expect(error.message).toBe('POST /tool-calls (no_answer): The service did not answer in time.');
  await proxy.accept();
  // Nothing is kept before it has ended.
  expect(await recourse.recover(error.requestId)).toBe(null);
  notes.letGo();
  await expect
    .poll(async () => (await recourse.recover(error.requestId))?.results, POLL)
    .toMatchObject([{ success: true, value: 'once' }]);
  const { idempotencyKey } = error;
  if (idempotencyKey === null) throw new Error('There is no key.');
  // The same key later, by whomever: nothing runs.
  const again = await createRecourse({ url }).execute(NOTES, { idempotencyKey });
  expect(again).toMatchObject({ replayed: true, results: [{ value: 'once' }] });
  expect(notes.runs('once')).toBe(1);
});

test('a service that was never reached has run nothing, and the error says so, where it is and why', async () => {
  const { proxy, url } = await startLossyService();
  proxy.refuse();
  const error = await failureOf(createRecourse({ url, timeoutMs: 500 }).execute(NOTES));
  expect(error).toMatchObject({
    message: `POST /tool-calls (no_answer): Nothing answers at ${url} (ECONNREFUSED). Is the service running?`,
    cause: { cause: { code: 'ECONNREFUSED' } },
    ...{ code: 'no_answer', status: null, mayHaveRun: false },
  });
});

test('a service that goes away once it was reached is waited for to the end of the whole time', PATIENCE, async () => {
  const { notes, proxy, url } = await startLossyService();
  const recourse = createRecourse({ url, connectTimeoutMs: 1 });
  const running = recourse.execute(NOTES);
  await expect.poll(() => notes.runs('once'), POLL).toBe(1);
  proxy.refuse();
  proxy.cut();
  notes.letGo();
  await proxy.accept();
  expect(await running).toMatchObject({ replayed: true, results: [{ success: true }] });
});

test(
  'a model whose call still runs when its answer is lost reads the result, and not that it was lost',
  PATIENCE,
  async () => {
    const { notes, proxy, url } = await startLossyService();
    const { fetch, statuses } = createWatchedFetch();
    const answer = createRecourse({ url, fetch }).session('model').answerCall(CALL);
    await expect.poll(() => notes.runs('once'), POLL).toBe(1);
    proxy.cut();
    await expect.poll(statuses, POLL).toContain(409);
    notes.letGo();
    expect(await answer).toMatchObject({ text: 'once', isError: false, result: { replayed: true } });
    expect(notes.runs('once')).toBe(1);
  },
);
