import { type Actor, freshName } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool } from '@recourse/test-support/pending-client.ts';
import { describe, expect, test } from 'vitest';
import { callOf, outcomesOf, stateOf, usePendingLab, valuesOf } from './pending-lab.ts';

const startOn = usePendingLab();

describe.each(['memory', 'redis'] as const)('ends of pending calls, on %s', (store) => {
  const start = (actors: readonly Pick<Actor, 'tool'>[], more: Readonly<Record<string, string>> = {}) =>
    startOn(store, actors, more);

  test('a call that has not begun is cancelled and has not run: 200, for nothing is pending', async () => {
    const build = createHeldTool('build', { effects: 'write' });
    const { begin, ask } = await start([build], { WORKER_CONCURRENCY: '1' });
    const running = await begin({ calls: [callOf('build')] });
    await build.begun();
    const queued = await begin({ calls: [callOf('build')] });
    expect(stateOf(queued)).toBe('queued');
    const cancelled = await ask(`/tool-calls/${queued.requestId}`, { method: 'DELETE' });
    expect(cancelled.status).toBe(200);
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
    expect(await ask(`/tool-calls/${kept.requestId}`, { method: 'DELETE' })).toMatchObject({
      status: 202,
      state: 'pending',
    });
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
