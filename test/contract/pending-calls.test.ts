import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toKeyEntry } from '#test/auth/access-client.ts';
import { type Actor, createActor, fail, freshName, startLab } from '#test/support/keyed-client.ts';
import { createHeldTool, createPendingClient, type PendingAnswer } from '#test/support/pending-client.ts';
import { type RedisForTests, redisForTests } from '#test/support/redis-server.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const outcomesOf = ({ results }: PendingAnswer): readonly string[] =>
  results.map(({ outcome, error }) => error?.code ?? outcome);

const valuesOf = ({ results }: PendingAnswer): readonly unknown[] => results.map(({ value }) => value);

const handleOf = ({ results }: PendingAnswer, index = 0): string => {
  const result = results[index];
  return result?.outcome === 'pending' ? result.pending.call : '';
};

const stateOf = ({ results }: PendingAnswer, index = 0): string | null => {
  const result = results[index];
  return result?.outcome === 'pending' ? result.pending.state : null;
};

const callOf = (name: string, only: unknown = freshName()) => ({ id: 'x', name, arguments: { only } });

describe.each(['memory', 'redis'] as const)('calls that outlive their request, on %s', (store) => {
  const start = async (actors: readonly Pick<Actor, 'tool'>[], more: Readonly<Record<string, string>> = {}) => {
    const lab = await startLab(actors, store === 'memory' ? more : { REDIS_URL: redis.url, ...more });
    return { ...lab, ...createPendingClient(lab.service.url) };
  };

  test('the answer comes before the call has ended, and its result in its place under the request id', async () => {
    const build = createHeldTool('build');
    const look = createActor('look');
    const { begin, finish, ask } = await start([build, look]);
    const first = await begin({ calls: [callOf('build'), callOf('look', 1)] }, { wait: 1 });
    expect(first).toMatchObject({ status: 202, state: 'pending' });
    expect(outcomesOf(first)).toEqual(['pending', 'success']);
    expect(first.headers.get('location')).toBe(`/tool-calls/${first.requestId}`);
    expect(first.headers.get('preference-applied')).toBe('respond-async');
    expect(first.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(first.results[0]).toMatchObject({ executed: 'maybe', error: null, retry: null, value: null });
    expect(handleOf(first)).toMatch(/^c_[\w-]{22}$/);
    expect(await ask(`/tool-calls/${first.requestId}`)).toMatchObject({ status: 202, state: 'pending' });
    build.release();
    const last = await finish(first.requestId);
    expect(last).toMatchObject({ status: 200, state: 'done' });
    expect(valuesOf(last)).toEqual(['build done', { only: 1 }]);
    expect(last.results[0]).toMatchObject({ index: 0, id: 'x', name: 'build', executed: 'yes' });
    expect(build.asked).toHaveLength(1);
  });

  test('a call that ends while the answer waits is answered as any other, with status done', async () => {
    const { begin } = await start([createActor('build', { background: 'always' })]);
    const answer = await begin({ calls: [callOf('build', 7)] }, { wait: 10 });
    expect(answer).toMatchObject({ status: 200, state: 'done' });
    expect(valuesOf(answer)).toEqual([{ only: 7 }]);
  });

  test('wait_ms asks for the same, in the envelope and in the query', async () => {
    const build = createHeldTool('build');
    const { ask } = await start([build]);
    const inBody = await ask('/tool-calls', { method: 'POST', body: { wait_ms: 0, calls: [callOf('build')] } });
    const inQuery = await ask('/tool-calls?wait_ms=0', { method: 'POST', body: { calls: [callOf('build')] } });
    expect([inBody.status, inQuery.status]).toEqual([202, 202]);
    build.release();
  });

  test('a tool that only runs in the background refuses a caller that waits, before it is charged', async () => {
    const build = createActor('build', { background: 'always' });
    const { post, session } = await start([build]);
    const id = freshName();
    const { results } = await post({ session_id: id, calls: [callOf('build')] });
    expect(results[0]).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'async_required' } });
    expect(build.asked).toHaveLength(0);
    expect((await session(id)).session.calls).toBe(0);
  });

  test('an optional tool runs as any other for a caller that waits', async () => {
    const { post } = await start([createActor('build', { background: 'optional' })]);
    const { results, status } = await post([callOf('build', 3)]);
    expect([status, results[0]?.value]).toEqual([200, { only: 3 }]);
  });

  test('what can be refused is refused before it is accepted: a pending call is valid', async () => {
    const build = createActor('build', { background: 'always' });
    const { begin } = await start([build]);
    const answer = await begin({ calls: [{ name: 'build', arguments: '[1]' }, { name: 'nix' }, 7] });
    expect(outcomesOf(answer)).toEqual(['invalid_arguments', 'unknown_tool', 'invalid_call']);
    expect(answer).toMatchObject({ status: 200, state: 'done' });
    expect(build.asked).toHaveLength(0);
  });

  test('the same call again joins the pending one: the same handle, nothing runs twice, nothing is charged', async () => {
    const build = createHeldTool('build', { effects: 'write' });
    const { begin, finish, ask, session } = await start([build]);
    const [id, only] = [freshName(), freshName()];
    const body = { session_id: id, calls: [callOf('build', only)] };
    const first = await begin(body);
    await build.begun();
    const again = await begin(body);
    expect(handleOf(again)).toBe(handleOf(first));
    expect(again.results[0]).toMatchObject({ outcome: 'pending', replayed: true });
    const waiting = await ask('/tool-calls', { method: 'POST', body });
    expect(waiting.status).toBe(202);
    expect((await session(id)).session.calls).toBe(1);
    build.release();
    expect(valuesOf(await finish(first.requestId))).toEqual(['build done']);
    expect(valuesOf(await finish(again.requestId))).toEqual(['build done']);
    expect(build.asked).toHaveLength(1);
  });

  test('another call of the same tool runs beside it, up to the limit of the session', async () => {
    const build = createHeldTool('build');
    const { begin, finish } = await start([build], { SESSION_MAX_PENDING: '2' });
    const id = freshName();
    const calls = [callOf('build'), callOf('build'), callOf('build')].map((call, at) => ({ ...call, id: `${at}` }));
    const answer = await begin({ session_id: id, calls });
    expect(outcomesOf(answer).toSorted()).toEqual(['call_limit_exceeded', 'pending', 'pending']);
    build.release();
    const last = await finish(answer.requestId);
    expect(outcomesOf(last).toSorted()).toEqual(['call_limit_exceeded', 'success', 'success']);
    expect(outcomesOf(await begin({ session_id: id, calls: [callOf('build')] }, { wait: 5 }))).toEqual(['success']);
  });

  test('a repeat under its Idempotency-Key is answered by the state now, and never runs a call again', async () => {
    const build = createHeldTool('build', { effects: 'write' });
    const { begin, finish } = await start([build]);
    const headers = { 'idempotency-key': freshName() };
    const body = { calls: [callOf('build', 1)] };
    const first = await begin(body, { headers });
    const pending = await begin(body, { headers });
    expect(pending).toMatchObject({ status: 202, state: 'pending' });
    expect(handleOf(pending)).toBe(handleOf(first));
    build.release();
    await finish(first.requestId);
    const done = await begin(body, { headers });
    expect(done).toMatchObject({ status: 200, state: 'done' });
    expect(done.results[0]).toMatchObject({ value: 'build done', replayed: true });
    expect(build.asked).toHaveLength(1);
  });

  test('a call that has not begun is cancelled and has not run', async () => {
    const build = createHeldTool('build', { effects: 'write' });
    const { begin, ask } = await start([build], { WORKER_CONCURRENCY: '1' });
    const running = await begin({ calls: [callOf('build')] });
    await build.begun();
    const queued = await begin({ calls: [callOf('build')] });
    expect(stateOf(queued)).toBe('queued');
    const cancelled = await ask(`/tool-calls/${queued.requestId}`, { method: 'DELETE' });
    expect(cancelled.status).toBe(202);
    expect(cancelled.results[0]).toMatchObject({ executed: 'no', error: { code: 'cancelled' } });
    const twice = await ask(`/tool-calls/${queued.requestId}/calls/0`, { method: 'DELETE' });
    expect(twice.results).toEqual(cancelled.results);
    build.release();
    await ask(`/tool-calls/${running.requestId}?wait_ms=5000`);
    expect(build.asked).toHaveLength(1);
  });

  test('a running call that is safe is aborted; a running write goes on unless it is forced', async () => {
    const look = createHeldTool('look');
    const write = createHeldTool('write', { effects: 'write' });
    const { begin, ask, finish } = await start([look, write]);
    const safe = await begin({ calls: [callOf('look')] });
    const kept = await begin({ calls: [callOf('write', 1)] });
    const forced = await begin({ calls: [callOf('write', 2)] });
    await look.begun();
    await write.begun(2);
    await ask(`/tool-calls/${safe.requestId}`, { method: 'DELETE' });
    expect((await finish(safe.requestId)).results[0]).toMatchObject({
      executed: 'maybe',
      error: { code: 'cancelled' },
    });
    expect(await ask(`/tool-calls/${kept.requestId}`, { method: 'DELETE' })).toMatchObject({ state: 'pending' });
    await ask(`/tool-calls/${forced.requestId}?force=true`, { method: 'DELETE' });
    expect((await finish(forced.requestId)).results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
    write.release();
    expect(valuesOf(await finish(kept.requestId))).toEqual(['write done']);
    // What was cut off has ended after all, and says so.
    await expect.poll(async () => valuesOf(await ask(`/tool-calls/${forced.requestId}`))).toEqual(['write done']);
  });

  test('a waiter waits for any or for all, and not for ever; what it knows already is 304', async () => {
    const quick = createHeldTool('quick');
    const slow = createHeldTool('slow');
    const { begin, ask, finish } = await start([quick, slow]);
    const { requestId } = await begin({ calls: [callOf('quick'), callOf('slow')] });
    const path = `/tool-calls/${requestId}`;
    expect(await ask(`${path}?wait_ms=100`)).toMatchObject({ status: 202 });
    const any = ask(`${path}?wait_ms=20000&until=any`);
    quick.release();
    expect(outcomesOf(await any)).toEqual(['success', 'pending']);
    slow.release();
    const last = await finish(requestId);
    const tag = last.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"/);
    expect((await ask(path, { headers: { 'if-none-match': tag } })).status).toBe(304);
    expect(await ask(`${path}?until=some`)).toMatchObject({ status: 400, problem: 'invalid_query' });
  });

  test('pending calls belong to their tenant, and to keys that may use their tools', async () => {
    const build = createHeldTool('build');
    const keys = [toKeyEntry('one', 'a'), toKeyEntry('two', 'b'), toKeyEntry('one', 'c', 'tools=echo')];
    const { begin, ask } = await start([build], { API_KEYS: keys.join(',') });
    const as = (key: string) => ({ authorization: `Bearer ${key}` });
    const { requestId } = await begin({ calls: [callOf('build')] }, { headers: as('a') });
    for (const key of ['b', 'c'])
      for (const method of ['GET', 'DELETE'] as const)
        expect(await ask(`/tool-calls/${requestId}`, { method, headers: as(key) })).toMatchObject({ status: 404 });
    expect(await ask(`/tool-calls/${requestId}`, { headers: as('a') })).toMatchObject({ status: 202 });
    build.release();
  });

  test('a failure is charged when it comes, a success clears the tool, and pending is neither', async () => {
    const build = createActor('build', { background: 'always', retries: 2 }, fail);
    const { begin, session } = await start([build]);
    const id = freshName();
    const run = () => begin({ session_id: id, calls: [callOf('build')] }, { wait: 10 });
    const first = await run();
    expect(first.results[0]).toMatchObject({ error: { code: 'tool_exception' }, retry: { remaining: 2, used: 0 } });
    expect((await run()).results[0]).toMatchObject({ retry: { remaining: 1, used: 1 } });
    build.act(() => 'well');
    expect(outcomesOf(await run())).toEqual(['success']);
    const { tools, calls } = await session(id);
    expect(tools.filter(({ failures, used, running }) => failures + used + running > 0)).toEqual([]);
    expect(calls.map(({ outcome, late }) => [outcome, late?.outcome])).toEqual([
      ['pending', 'retry'],
      ['pending', 'retry'],
      ['pending', 'success'],
    ]);
  });

  test('calls behind a pending one in their order do not run, and say why', async () => {
    const build = createHeldTool('build');
    const look = createActor('look');
    const { begin } = await start([build, look]);
    const answer = await begin({ order: 'sequential', calls: [callOf('build'), callOf('look')] });
    expect(outcomesOf(answer)).toEqual(['pending', 'not_executed']);
    expect(look.asked).toHaveLength(0);
    build.release();
  });

  test('a call past its duration is a timeout, and no waiter waits for ever', async () => {
    const build = createHeldTool('build', { maxDurationMs: 300 });
    const { begin, finish } = await start([build]);
    const { requestId } = await begin({ calls: [callOf('build')] });
    expect(outcomesOf(await finish(requestId))).toEqual(['timeout']);
  });

  test('a caller that goes away ends nothing, and a stream of the batch ends with each result once', async () => {
    const build = createHeldTool('build');
    const { service, finish } = await start([build]);
    const requestId = `gone-${freshName().slice(-20)}`.replace(/[^\w-]/g, '_');
    const abort = new AbortController();
    const headers = { 'content-type': 'application/json', prefer: 'respond-async', accept: 'application/x-ndjson' };
    const body = JSON.stringify({ calls: [callOf('build')] });
    const sent = { method: 'POST', headers: { ...headers, 'x-request-id': requestId }, body, signal: abort.signal };
    await fetch(`${service.url}/tool-calls`, sent);
    await build.begun();
    abort.abort();
    const again = await fetch(`${service.url}/tool-calls/${requestId}/events`, { headers });
    build.release();
    const lines = (await again.text()).trim().split('\n');
    const events = lines.map((line) => String(JSON.parse(line).event)).filter((event) => event !== 'progress');
    expect(events).toEqual(['snapshot', 'result', 'done']);
    expect(valuesOf(await finish(requestId))).toEqual(['build done']);
  });
});

test('without Redis a pending result says that it is lost with its process; with Redis it does not', async () => {
  const build = createHeldTool('build');
  const inMemory = await startLab([build]);
  const [result] = (await createPendingClient(inMemory.service.url).begin({ calls: [callOf('build')] })).results;
  expect(result).toMatchObject({ pending: { mode: 'memory' }, message: expect.stringContaining('lost') });
  build.release();
});
