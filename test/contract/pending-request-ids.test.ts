import { createActor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const Problem = z.object({ status: z.number(), code: z.string(), detail: z.string() });

const createRequestId = (): string =>
  `mine-${freshName()}`
    .replace(/[^\w-]/g, '_')
    .slice(-40)
    .padEnd(16, '_');
`mine-${freshName()}`
  .replace(/[^\w-]/g, '_')
  .slice(0, 40)
  .padEnd(16, '_');

describe.each(['memory', 'redis'] as const)('request ids of pending calls, on %s', (store) => {
  const start = async () => {
    const [build, look] = [createHeldTool('build', { effects: 'write' }), createActor('look')];
    const lab = await startLab([build, look], store === 'memory' ? {} : { REDIS_URL: redis.url });
    return { build, look, lab, ...createPendingClient(lab.service.url) };
  };

  test('a batch that joins a pending call unasked is found under its own request id, in its own places', async () => {
    const { build, begin, ask, finish } = await start();
    const [id, only] = [freshName(), freshName()];
    const call = { name: 'build', arguments: { only } };
    const first = await begin({ session_id: id, calls: [{ id: 'first', ...call }] });
    await build.begun();
    const body = {
      session_id: id,
      calls: [
        { id: 'look', name: 'look' },
        { id: 'second', ...call },
      ],
    };
    const joined = await ask('/tool-calls', { method: 'POST', body });
    expect(joined).toMatchObject({ status: 202, state: 'pending' });
    expect(joined.headers.get('location')).toBe(`/tool-calls/${joined.requestId}`);
    expect(joined.headers.get('preference-applied')).toBeNull();
    const now = await ask(`/tool-calls/${joined.requestId}`);
    expect(now).toMatchObject({ status: 202, state: 'pending' });
    expect(now.results).toMatchObject([
      { id: 'look', outcome: 'success' },
      { index: 1, id: 'second', outcome: 'pending' },
    ]);
    build.release();
    const last = await finish(joined.requestId);
    expect(last).toMatchObject({ status: 200, state: 'done' });
    expect(last.results[1]).toMatchObject({ index: 1, id: 'second', value: 'build done', replayed: true });
    expect((await finish(first.requestId)).results[0]).toMatchObject({ index: 0, id: 'first', value: 'build done' });
    expect(build.asked).toHaveLength(1);
  });

  test('calls that are accepted are found under their request id before the batch is answered', async () => {
    const { build, begin, ask } = await start();
    const headers = { 'x-request-id': createRequestId() };
    const path = `/tool-calls/${headers['x-request-id']}`;
    const call = { name: 'build', arguments: { only: freshName() } };
    const answer = begin({ calls: [{ id: 'first', ...call }] }, { wait: 20, headers });
    await build.begun();
    const now = await ask(path);
    expect(now).toMatchObject({ status: 202, state: 'pending', results: [{ index: 0, id: 'first', name: 'build' }] });
    build.release();
    expect((await answer).results).toMatchObject([{ value: 'build done' }]);
    const last = await ask(path);
    expect(last.results).toMatchObject([{ index: 0, id: 'first', value: 'build done' }]);
    // As it was said while one was pending, and by the answer.
    expect([(await answer).state, last.state]).toEqual(['done', 'done']);
  });

  test('without a pending call nothing is kept under a request id that had no key', async () => {
    const { ask } = await start();
    const answer = await ask('/tool-calls', { method: 'POST', body: { calls: [{ name: 'look' }] } });
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
    expect(await ask(`/tool-calls/${answer.requestId}`)).toMatchObject({ status: 404, problem: 'result_not_kept' });
  });

  test('a request id that comes again with another asynchronous body is refused by its own name', async () => {
    const { build, look, lab, begin, finish } = await start();
    const headers = { 'x-request-id': createRequestId() };
    await begin({ calls: [{ name: 'build', arguments: { only: 1 } }] }, { headers });
    const again = await fetch(`${lab.service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'respond-async', ...headers },
      body: JSON.stringify({ calls: [{ name: 'look' }] }),
    });
    const { status, code, detail } = Problem.parse(await again.json());
    expect([again.status, status, code]).toEqual([422, 422, 'idempotency_key_reused']);
    expect(detail).toBe(
      'The results of a different asynchronous batch are stored under this X-Request-Id. Nothing has run; use a new request id for a new batch, or leave it out.',
    );
    expect(look.asked).toHaveLength(0);
    build.release();
    expect((await finish(headers['x-request-id'])).results).toMatchObject([{ value: 'build done' }]);
  });

  test('where the request id holds another batch already, one that joins a pending call says that it is not found', async () => {
    const { build, begin, ask, finish } = await start();
    const [id, headers] = [freshName(), { 'x-request-id': createRequestId() }];
    const call = { name: 'build', arguments: { only: freshName() } };
    await begin({ session_id: id, calls: [call] }, { headers });
    await build.begun();
    const body = { session_id: id, calls: [{ name: 'look' }, call] };
    const { results, headers: answered } = await ask('/tool-calls', { method: 'POST', body, headers });
    expect(answered.get('location')).toBeNull();
    expect(results.map(({ warnings = [] }) => warnings.map(({ code }) => code))).toEqual([
      ['results_not_recorded'],
      ['results_not_recorded'],
    ]);
    build.release();
    await finish(headers['x-request-id']);
  });
});
