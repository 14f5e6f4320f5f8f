import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { type Actor, createActor, fail, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { describe, expect, test } from 'vitest';
import { callOf, handleOf, outcomesOf, usePendingLab, valuesOf } from './pending-lab.ts';

const startOn = usePendingLab();

describe.each(['memory', 'redis'] as const)('calls that outlive their request, on %s', (store) => {
  const start = (actors: readonly Pick<Actor, 'tool'>[], more: Readonly<Record<string, string>> = {}) =>
    startOn(store, actors, more);

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

  test('a call that a limit of pending calls refused runs under the same key once there is room', async () => {
    const build = createHeldTool('build', { effects: 'write' });
    const { begin, finish } = await start([build], { SESSION_MAX_PENDING: '1' });
    const body = (given: number) => ({ session_id: 'one', calls: [callOf('build', given)] });
    const first = await begin(body(1));
    const headers = { 'idempotency-key': freshName() };
    expect(outcomesOf(await begin(body(2), { headers }))).toEqual(['call_limit_exceeded']);
    build.release();
    await finish(first.requestId);
    expect(outcomesOf(await begin(body(2), { headers, wait: 10 }))).toEqual(['success']);
    expect(build.asked).toHaveLength(2);
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

  test('a call that joined a pending one and ended with it never runs under the key of its batch', async () => {
    const build = createHeldTool('build', { effects: 'write' });
    const look = createActor('look', {}, () => build.release());
    const { begin, post } = await start([build, look]);
    const [id, only, key] = [freshName(), freshName(), freshName()];
    await begin({ session_id: id, calls: [callOf('build', only)] });
    const body = { session_id: id, calls: [callOf('build', only), callOf('look')] };
    const headers = { 'idempotency-key': key };
    // It has joined before any call of its batch runs.
    const joined = await begin(body, { headers, wait: 20 });
    expect(joined.results[0]).toMatchObject({ value: 'build done', replayed: true });
    expect((await begin(body, { headers, wait: 20 })).results[0]).toMatchObject({ value: 'build done' });
    expect((await post(body, { key })).results[0]).toMatchObject({ value: 'build done' });
    expect(build.asked).toHaveLength(1);
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
});

test('without Redis a pending result says that it is lost with its process; with Redis it does not', async () => {
  const build = createHeldTool('build');
  const inMemory = await startLab([build]);
  const [result] = (await createPendingClient(inMemory.service.url).begin({ calls: [callOf('build')] })).results;
  expect(result).toMatchObject({ pending: { mode: 'memory' }, message: expect.stringContaining('lost') });
  build.release();
});
