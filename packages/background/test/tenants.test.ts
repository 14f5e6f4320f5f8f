import { askAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { describe, expect, onTestFinished, test } from 'vitest';

// Tasks of MCP: packages/mcp-server/test/service-tasks.test.ts.

const UNKNOWN = 'a-request-that-nobody-sent';
const A = 'the-key-of-tenant-a-012345';
const B = 'the-key-of-tenant-b-012345';
const as = (key: string) => ({ authorization: `Bearer ${key}` });

const PATHS = [
  ['GET', ''],
  ['GET', '?wait_ms=50'],
  ['GET', '/events'],
  ['DELETE', '?force=true'],
  ['DELETE', '/calls/0?force=true'],
] as const;

const handleOf = ({ results }: PendingAnswer): string => {
  const [result] = results;
  return result?.outcome === 'pending' ? result.pending.call : 'none';
};

const start = async (store: 'memory' | 'redis') => {
  const build = createHeldTool('build', { effects: 'write' });
  const environment: Record<string, string> = { API_KEYS: [toKeyEntry('a', A), toKeyEntry('b', B)].join(',') };
  if (store === 'redis') {
    const redis = await redisForTests();
    onTestFinished(redis.stop);
    environment['REDIS_URL'] = redis.url;
  }
  const { service } = await startLab([build], environment);
  return { build, service, ...createPendingClient(service.url) };
};

describe.each(['memory', 'redis'] as const)('the pending call of a tenant, on %s', (store) => {
  test('is nothing to another one: each path answers as for an id that nobody has, and changes nothing', async () => {
    const { build, service, begin, finish } = await start(store);
    const { requestId } = await begin({ calls: [{ name: 'build', arguments: { only: 1 } }] }, { headers: as(A) });
    await build.begun();
    const ask = async (id: string, path: string, method: string) => {
      const { status, code, text } = await askAs(service, B, `/tool-calls/${id}${path}`, { method });
      return { status, code, text: text.replaceAll(id, '').replace(/"(request_id|instance)":"[^"]*"/g, '') };
    };
    for (const [method, path] of PATHS) {
      const answer = await ask(requestId, path, method);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
      expect(answer).toEqual(await ask(UNKNOWN, path, method));
    }
    expect(await createPendingClient(service.url).ask(`/tool-calls/${requestId}`, { headers: as(A) })).toMatchObject({
      status: 202,
    });
    build.release();
    expect((await finish(requestId, as(A))).results[0]?.value).toBe('build done');
  });

  test('is in no session and under no key of another one, whatever the names are', async () => {
    const { build, service, begin, finish } = await start(store);
    const body = { session_id: 's', calls: [{ name: 'build', arguments: { only: 1 } }] };
    const headers = { 'idempotency-key': freshName() };
    const first = await begin(body, { headers: { ...headers, ...as(A) } });
    await build.begun();
    const read = async (key: string) => (await askAs(service, key, '/sessions/s')).text;
    const handle = handleOf(first);
    expect(await read(A)).toContain(handle);
    expect(await read(B)).not.toContain(handle);
    const second = await begin(body, { headers: { ...headers, ...as(B) } });
    expect(second.results[0]).toMatchObject({ outcome: 'pending' });
    expect(second.results[0]).not.toHaveProperty('replayed');
    expect(handleOf(second)).not.toBe(handle);
    await build.begun(2);
    expect(await read(B)).not.toContain(handle);
    build.release();
    for (const [key, { requestId }] of [
      [A, first],
      [B, second],
    ] as const)
      expect((await finish(requestId, as(key))).results[0]?.value).toBe('build done');
  });
});
