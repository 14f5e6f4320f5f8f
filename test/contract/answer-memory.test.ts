import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expectProblem, expectResults, post } from '@recourse/test-support/check-answer.ts';
import { createActor, startLab } from '@recourse/test-support/keyed-client.ts';
import { post as postMcp } from '@recourse/test-support/mcp-clients.ts';
import { openConnection, toPostText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const MIB = 1_048_576;

const large = defineTool({
  name: 'large',
  description: 'Gives so many characters that JSON writes as six.',
  effects: 'read',
  input: z.object({ place: z.number(), length: z.number() }),
  run: ({ length }) => ({ text: '\u0001'.repeat(length) }),
});
const writes = defineTool({
  name: 'writes',
  description: 'Does something, and says much of it.',
  effects: 'write',
  input: z.object({ place: z.number(), length: z.number() }),
  run: ({ length }) => ({ text: '\u0001'.repeat(length) }),
});

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
  const service = await startService(environment, [large, writes]);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};

const callsOf = (count: number, length: number, name = 'large') =>
  Array.from({ length: count }, (_, place) => ({ id: `c${place}`, name, arguments: { place, length } }));

const SMALL_LIMITS = { MAX_ANSWER_BYTES: '1048576', MAX_BODY_BYTES: '524288', REQUEST_MEMORY_MB: '10' };

test('a batch is answered with as much as an answer holds, in the order of its calls; the rest ran, and is left out', async () => {
  const { url } = await start(SMALL_LIMITS);
  const calls = [...callsOf(8, 50_000), { id: 'e', name: 'echo', arguments: { text: 'small' } }];
  const answer = await post(url, JSON.stringify({ calls }));
  const results = expectResults(answer, 9);
  expect(results.map(({ error, executed }) => [error?.code ?? 'ok', executed])).toEqual([
    ...Array.from({ length: 3 }, () => ['ok', 'yes']),
    ...Array.from({ length: 5 }, () => ['output_too_large', 'yes']),
    ['ok', 'yes'],
  ]);
  expect(results[3]?.message).toContain(
    "Tool 'large' ran. The results of this batch exceed 1048576 bytes together, so this one is left out. Ask for less, or make fewer calls at once.",
  );
  expect(answer.body.length).toBeLessThan(1.1 * MIB);
});

test('copies of a call count as much as the call', async () => {
  const { url } = await start(SMALL_LIMITS);
  const [call] = callsOf(1, 50_000);
  const results = expectResults(await post(url, JSON.stringify({ calls: Array.from({ length: 6 }, () => call) })), 6);
  expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual([
    'ok',
    'ok',
    'ok',
    'output_too_large',
    'output_too_large',
    'output_too_large',
  ]);
});

test('a write whose result is left out is a success', async () => {
  const { url } = await start(SMALL_LIMITS);
  const results = expectResults(await post(url, JSON.stringify({ calls: callsOf(5, 50_000, 'writes') })), 5);
  expect(results.map(({ success, truncated }) => [success, truncated])).toEqual([
    [true, undefined],
    [true, undefined],
    [true, undefined],
    [true, true],
    [true, true],
  ]);
  expect(results[4]?.value).toBeNull();
  expect(results[4]?.warnings?.map(({ code }) => code)).toEqual(['output_too_large']);
});

/** Sends a request and reads nothing of its answer. */
const sendUnread = async (port: number, text: string): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(text);
  return socket;
};

const keyOf = (tenant: string): readonly [string, string] => ['x-api-key', `key-of-${tenant}`];
const API_KEYS = ['a', 'b']
  .map((tenant) => `${tenant}=${createHash('sha256').update(`key-of-${tenant}`).digest('hex')}`)
  .join(',');

const BYTES = 'recourse_request_memory_bytes';
const WAIT = { timeout: timeLimit(5000), interval: 20 };
const LARGE_BODY = JSON.stringify({ calls: callsOf(60, 170_000) });
// Larger than what the kernel keeps of an answer that is not read.
const UNREAD = { API_KEYS, MAX_ANSWER_BYTES: String(16 * MIB), REQUEST_MEMORY_MB: '160', BATCH_CONCURRENCY: '1' };

test(
  'answers that are not read are kept in a bounded memory: their caller is refused, others are served',
  async () => {
    const service = await start(UNREAD);
    const askAsA = () => post(service.url, JSON.stringify({ calls: [] }), Object.fromEntries([keyOf('a')]));
    const refused = async () => (await service.metric('recourse_shed_total{reason="request_memory"}')) ?? 0;
    const sendAndAsk = async () => {
      await sendUnread(service.port, toPostText(LARGE_BODY, [keyOf('a')]));
      return (await askAsA()).status;
    };
    await expect.poll(sendAndAsk, { timeout: timeLimit(40_000), interval: 200 }).toBe(503);
    expect(await refused()).toBeGreaterThan(0);
    const answer = await askAsA();
    expect(answer.headers.get('retry-after')).toBe('2');
    expectProblem(answer, {
      status: 503,
      title: 'Service Unavailable',
      code: 'overloaded',
      detail:
        'The service is overloaded (request_memory). Nothing has run; send the batch again after the time in Retry-After.',
    });
    const other = await post(service.url, JSON.stringify({ calls: callsOf(1, 10) }), Object.fromEntries([keyOf('b')]));
    expect(expectResults(other, 1)[0]?.success).toBe(true);
    expect(await service.metric(BYTES)).toBeLessThan(160 * MIB);
  },
  timeLimit(60_000),
);

test(
  'a connection that takes nothing of its answer is ended, and what it held is free',
  async () => {
    const service = await start({ ...UNREAD, ANSWER_STALL_MS: '600' });
    const socket = await sendUnread(service.port, toPostText(LARGE_BODY, [keyOf('a')]));
    await expect
      .poll(() => service.metric('recourse_connections_stalled_total'), { timeout: timeLimit(20_000) })
      .toBe(1);
    await expect.poll(() => service.metric(BYTES), { timeout: timeLimit(5000) }).toBe(0);
    socket.resume();
    await once(socket, 'close');
  },
  timeLimit(60_000),
);

test(
  'a client that reads keeps its connection, and gives back what its answer held',
  async () => {
    const service = await start({ ...UNREAD, ANSWER_STALL_MS: '3000' });
    const answer = await post(service.url, LARGE_BODY, Object.fromEntries([keyOf('a')]));
    expect(answer.body.length).toBeGreaterThan(8 * MIB);
    expect(await service.metric('recourse_connections_stalled_total')).toBe(0);
    await expect.poll(() => service.metric(BYTES), { timeout: timeLimit(5000) }).toBe(0);
  },
  timeLimit(60_000),
);

test('an answer of an MCP call is held until it is sent, and no longer', async () => {
  const service = await start();
  const params = { name: 'large', arguments: { place: 1, length: 100_000 } };
  const answer = await postMcp(service.url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  expect(answer.status).toBe(200);
  await expect.poll(() => service.metric(BYTES), { timeout: timeLimit(5000) }).toBe(0);
});

/** A gate that calls wait at until it is opened. */
const createGate = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
};

test(
  'a replay that finds no room is refused and can be asked for again: the record stays, and nothing runs twice',
  async () => {
    const [begun, over] = [createGate(), createGate()];
    const keeper = createActor('keeper', { effects: 'write' }, () => '\u0001'.repeat(30_000));
    const filler = createActor('filler', {}, async () => {
      await begun.passed;
      return '\u0001'.repeat(30_000);
    });
    const waiter = createActor('waiter', {}, () => over.passed);
    const { post: send, service } = await startLab([keeper, filler, waiter], SMALL_LIMITS);
    const bytes = () => service.metric(BYTES);
    const callsOfFive = (name: string) => Array.from({ length: 5 }, (_, place) => ({ name, arguments: { place } }));
    // Results of 0.9 MB, none of them too large to be kept.
    const kept = callsOfFive('keeper');
    const first = await send(kept, { key: 'large' });
    await expect.poll(bytes, WAIT).toBe(0);

    // All three are let in before one needs more: later there would be no room at the door.
    const running = ['a', 'b'].map((only) => send([...callsOfFive('filler'), { name: 'waiter', arguments: { only } }]));
    await expect.poll(() => waiter.asked.length, WAIT).toBe(2);
    const text = toPostText(JSON.stringify({ calls: kept }), [['Idempotency-Key', 'large']]);
    using replay = await openConnection(service.port);
    replay.write(text.slice(0, -1));
    await expect.poll(bytes, WAIT).toBeGreaterThan(3 * 32_768);
    begun.open();
    await expect.poll(bytes, WAIT).toBeGreaterThan(3_600_000);
    replay.write(text.slice(-1));
    const refused = await replay.answer();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(JSON.parse(refused.body)).toMatchObject({ code: 'overloaded', status: 503 });

    over.open();
    for (const { results } of await Promise.all(running)) expect(results.every(({ success }) => success)).toBe(true);
    await expect.poll(bytes, WAIT).toBe(0);
    const again = await send(kept, { key: 'large' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.results.map(({ value }) => value)).toEqual(first.results.map(({ value }) => value));
    expect(again.results.map(({ value }) => JSON.stringify(value).length > 180_000)).toEqual(Array(5).fill(true));
    expect(keeper.asked).toHaveLength(5);
  },
  timeLimit(60_000),
);
