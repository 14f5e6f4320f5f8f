import { failureOf, findClosedPort } from '@recourse/test-support/http-target.ts';
import { type LosingProxy, startLosingProxy } from '@recourse/test-support/losing-proxy.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { createRecourse, RecourseError, type RecourseSession } from '../../../clients/typescript/src/client.ts';
import { createWatchedFetch } from './lossy-lab.ts';

const ledger: string[] = [];
// What a run waits for before it answers.
let gate: Promise<void> = Promise.resolve();
let service: RunningService;

beforeAll(async () => {
  const placeOrder = defineTool({
    ...{ name: 'place_order', description: 'Orders an item.', effects: 'write', input: z.object({ item: z.string() }) },
    run: async ({ item }) => {
      const place = ledger.push(item);
      await gate;
      return `order ${place}`;
    },
  });
  service = await startService({}, [placeOrder]);
});
afterAll(() => service.stop());
afterEach(() => {
  ledger.splice(0);
  gate = Promise.resolve();
});

const order = (id: string, item = 'lamp') => ({ id, name: 'place_order', arguments: { item } });

const start = async (lost: number): Promise<{ proxy: LosingProxy; session: RecourseSession }> => {
  const proxy = await startLosingProxy(service.url, lost);
  return { proxy, session: createRecourse({ url: proxy.url }).session(crypto.randomUUID()) };
};

const toMessage = (...calls: readonly ReturnType<typeof order>[]) => ({
  role: 'assistant',
  tool_calls: calls.map(({ id, name, arguments: given }) => ({
    ...{ id, type: 'function', function: { name, arguments: JSON.stringify(given) } },
  })),
});

const LOST = expect.stringMatching(/^ERROR: answer_lost: The answer to this call of 'place_order' was lost/);
const SETTLED =
  "The answer to your earlier call of 'place_order' with these arguments was lost. This is its result; it was not executed a second time.";

test('a lost call that is made again under another id gets its result, and after that the same call is a new one', async () => {
  const { session, proxy } = await start(2);
  expect(await session.answerCall(order('a'))).toEqual({ text: LOST, isError: true, result: null });
  expect(await session.answerCall(order('b'))).toMatchObject({
    ...{ text: `${SETTLED}\norder 1`, isError: false },
    result: { success: true, replayed: true },
  });
  expect(ledger).toEqual(['lamp']);
  expect(new Set(proxy.keys()).size).toBe(1);
  expect(await session.answerCall(order('c'))).toMatchObject({ text: 'order 2' });
  expect(ledger).toEqual(['lamp', 'lamp']);
});

/** The real fetch, whose first requests are sent nowhere. */
const cutFirst = (lost: number): typeof fetch => {
  const { fetch, statuses } = createWatchedFetch();
  return (input, init) =>
    statuses().length < lost && init?.method === 'POST'
      ? fetch('http://127.0.0.1:1/', { ...init, signal: AbortSignal.timeout(0) })
      : fetch(input, init);
};

test('a lost request that never arrived runs when the call is made again', async () => {
  const session = createRecourse({ url: service.url, fetch: cutFirst(2) }).session(crypto.randomUUID());
  expect(await session.answerCall(order('a'))).toMatchObject({ text: LOST });
  expect(ledger).toEqual([]);
  expect(await session.answerCall(order('b'))).toMatchObject({ text: 'order 1' });
  expect(ledger).toEqual(['lamp']);
});

test('a lost message that never arrived is sent whole when one of its calls is made again', async () => {
  const gone = createRecourse({ url: service.url, fetch: cutFirst(2) }).session(crypto.randomUUID());
  const message = toMessage(order('a'), order('b', 'chair'));
  await gone.answerMessage(message, { format: 'openai-chat', turn: 1 });
  expect(ledger).toEqual([]);
  expect(await gone.answerCall(order('c'))).toMatchObject({ result: { success: true, id: 'a' } });
  expect(ledger.toSorted()).toEqual(['chair', 'lamp']);
});

test('a model is told that nothing happened where nothing answers, and a program where no model can mend it', async () => {
  const closed = createRecourse({ url: `http://127.0.0.1:${await findClosedPort()}`, connectTimeoutMs: 1 });
  const message = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'place_order', input: {} }] };
  const answer = await closed.session('s').answerMessage(message, { format: 'anthropic', turn: 1 });
  const content =
    "ERROR: not_executed: 'place_order' was not executed, and nothing has happened. The tool service cannot be reached. Try again later, or say what could not be done.";
  expect(answer).toEqual({
    messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content, is_error: true }] }],
    ...{ results: [], pending: [] },
  });
  const elsewhere = createRecourse({ url: `${service.url}/no/such/path` }).session('s');
  expect(await failureOf(elsewhere.answerCall(order('a')))).toBeInstanceOf(RecourseError);
  const failing = elsewhere.answerMessage(message, { format: 'anthropic', turn: 1 });
  expect(await failureOf(failing)).toBeInstanceOf(RecourseError);
});

const POLL = { timeout: 20_000, interval: 5 };

test('a call that a program gave up is remembered: made again it does not run again', async () => {
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const session = createRecourse({ url: service.url }).session(crypto.randomUUID());
  const stop = new AbortController();
  const failing = failureOf(session.answerCall(order('a'), { signal: stop.signal }));
  await expect.poll(() => ledger, POLL).toEqual(['lamp']);
  stop.abort(new Error('enough'));
  expect(await failing).toMatchObject({ message: 'enough' });
  opened.resolve();
  await session.answerCall(order('b'));
  expect(ledger).toEqual(['lamp']);
});

test('of a message some calls of which were lost, these are settled and the others run', async () => {
  const { session } = await start(2);
  const first = toMessage(order('a'), order('b', 'chair'), order('c'));
  expect(await session.answerMessage(first, { format: 'openai-chat', turn: 1 })).toEqual({
    messages: ['a', 'b', 'c'].map((id) => ({ role: 'tool', tool_call_id: id, content: LOST })),
    ...{ results: [], pending: [] },
  });
  const second = toMessage(order('d'), order('e', 'table'), order('f'));
  const { messages, results } = await session.answerMessage(second, { format: 'openai-chat', turn: 3 });
  const places = { d: `${SETTLED}\norder 1`, e: 'order 4', f: `${SETTLED}\norder 3` };
  expect(messages).toEqual(
    Object.entries(places).map(([id, content]) => ({ role: 'tool', tool_call_id: id, content })),
  );
  expect(results).toHaveLength(3);
  expect(ledger.toSorted()).toEqual(['chair', 'lamp', 'lamp', 'table']);
});

test('calls without an id, and with one that a server counts anew in each step, are calls of their own', async () => {
  const { session, proxy } = await start(0);
  for (const [id, roundId] of [
    ['', '1'],
    ['', '1'],
    ['call_0', '1'],
    ['call_0', '2'],
  ] as const)
    await session.answerCall(order(id), { roundId });
  expect(ledger).toHaveLength(4);
  expect(new Set(proxy.keys()).size).toBe(4);
});

test('a run that is restarted in a later step runs the calls of that step, whose ids a server counts anew', async () => {
  const id = crypto.randomUUID();
  const answer = async (item: string, roundId: string): Promise<string> =>
    (await createRecourse({ url: service.url }).session(id).answerCall(order('call_0', item), { roundId })).text;
  expect(await answer('lamp', '1')).toBe('order 1');
  expect(await answer('lamp', '2')).toBe('order 2');
  expect(await answer('chair', '3')).toBe('order 3');
  expect(await answer('lamp', '1')).toBe('order 1');
  expect(ledger).toEqual(['lamp', 'lamp', 'chair']);
});

test('a turn that a program sends again after a restart runs nothing twice', async () => {
  const { proxy } = await start(0);
  const call = { type: 'function_call', call_id: 'call_1', name: 'place_order', arguments: '{"item":"lamp"}' };
  for (const _ of [1, 2]) {
    const session = createRecourse({ url: proxy.url }).session('the-run-of-a-test');
    const { messages } = await session.answerMessage([call], { format: 'openai-responses', turn: 'resp_1' });
    expect(messages).toEqual([{ type: 'function_call_output', call_id: 'call_1', output: 'order 1' }]);
  }
  expect(ledger).toEqual(['lamp']);
});
