import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createActor, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { describe, expect, onTestFinished, test } from 'vitest';

const SOON = { timeout: timeLimit(15_000), interval: 20 };
const OPERATOR = 'the-key-of-an-operator-01';
const LEAKED = 'the-key-that-leaked-0123';
const STAYING = 'the-key-that-stays-01234';
const OTHERS = 'the-key-of-another-tenant';
const as = (key: string) => ({ authorization: `Bearer ${key}` });
const HASH8 = hash('sha256', LEAKED).slice(0, 8);
const LINES = [
  toKeyEntry('acme', OPERATOR, 'name=operator'),
  toKeyEntry('acme', LEAKED, 'name=agent may=call'),
  toKeyEntry('acme', STAYING, 'name=agent may=call'),
] as const;

/** A service whose one slot for queued calls is taken, so that calls of `work` wait until `free`. */
const start = async (store: 'memory' | 'redis') => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-revoked-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'keys');
  const write = (lines: readonly string[]): void => writeFileSync(file, `${lines.join('\n')}\n`);
  write(LINES);
  const environment: Record<string, string> = {
    API_KEYS: toKeyEntry('globex', OTHERS),
    API_KEYS_FILE: file,
    WORKER_CONCURRENCY: '1',
  };
  if (store === 'redis') {
    const redis = await redisForTests();
    onTestFinished(redis.stop);
    environment['REDIS_URL'] = redis.url;
  }
  const blocker = createHeldTool('block');
  const work = createActor('work', { effects: 'write', background: 'optional' });
  const other = createActor('other', { effects: 'read', background: 'optional' });
  const { service } = await startLab([blocker, work, other], environment);
  const client = createPendingClient(service.url);
  const queue = async (key: string, name = 'work'): Promise<string> =>
    (await client.begin({ calls: [{ name, arguments: {} }] }, { headers: as(key) })).requestId;
  const ask = async (path: string, method = 'GET', key = OPERATOR) => {
    const { status, code, text } = await askAs(service, key, `/calls/pending${path}`, { method });
    return { status, code, body: JSON.parse(text) };
  };
  const block = await queue(OPERATOR, 'block');
  await blocker.begun();
  return { service, write, work, other, block, blocker, queue, ask, free: blocker.release, finish: client.finish };
};

describe.each(['memory', 'redis'] as const)('queued calls of an API key, on %s', (store) => {
  test('start only while the key is one and may use their tool, whatever it was allowed when they were accepted', async () => {
    const { service, write, work, other, queue, free, finish } = await start(store);
    const [leaked, staying, lost] = [await queue(LEAKED), await queue(STAYING), await queue(STAYING, 'other')];
    write([LINES[0], toKeyEntry('acme', STAYING, 'name=agent may=call tools=work')]);
    const statusOf = async (key: string) => (await askAs(service, key, '/tools')).status;
    await expect.poll(() => statusOf(LEAKED), SOON).toBe(401);
    free();
    expect((await finish(staying, as(OPERATOR))).results[0]?.value).toEqual({});
    for (const id of [leaked, lost])
      expect((await finish(id, as(OPERATOR))).results[0]).toMatchObject({
        success: false,
        executed: 'no',
        error: { code: 'not_authorized' },
      });
    expect([work.asked.length, other.asked.length]).toEqual([1, 0]);
  });

  test('are listed and cancelled by the hash of their key or by their tool, by their own tenant alone', async () => {
    const { work, block, queue, ask, free, finish } = await start(store);
    const leaked = [await queue(LEAKED), await queue(LEAKED), await queue(LEAKED)];
    const staying = await queue(STAYING);
    const { body } = await ask(`?key=${HASH8}&limit=2`);
    const newest = [...leaked].toReversed();
    expect(body.items.map(({ request_id: id }: { request_id: string }) => id)).toEqual(newest.slice(0, 2));
    const { body: next } = await ask(`?key=${HASH8}&limit=2&cursor=${body.next_cursor}`);
    expect(next).toMatchObject({ items: [{ request_id: newest[2] }], next_cursor: null });
    const all = (await ask('')).body;
    expect(all.items.map(({ request_id: id }: { request_id: string }) => id)).toEqual([staying, ...newest, block]);
    expect((await ask('?state=running')).body.items).toMatchObject([{ request_id: block, tool: 'block' }]);
    const {
      since,
      expires_at: expiresAt,
      ...listed
    } = all.items.find(({ request_id: id }: { request_id: string }) => id === leaked[0]);
    expect(listed).toEqual({
      request_id: leaked[0],
      index: 0,
      call: expect.stringMatching(/^c_/),
      tool: 'work',
      lane: 'default',
      key: 'agent',
      key_hash: HASH8,
      state: 'queued',
      session: null,
    });
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.parse(since));
    expect((await ask(`/${listed.call}`)).body).toEqual({ ...listed, since, expires_at: expiresAt });
    expect(await ask(`/${listed.call}`, 'GET', OTHERS)).toMatchObject({ status: 404, code: 'call_not_pending' });
    expect((await ask('?tool=work', 'GET', OTHERS)).body).toEqual({ items: [], next_cursor: null });
    expect((await ask('?tool=work', 'DELETE', OTHERS)).body).toEqual({ cancelled: 0, running: 0 });
    for (const [path, status, code] of [
      ['', 400, 'invalid_query'],
      ['?kye=12345678&tool=work', 400, 'invalid_query'],
      ['?key=short', 400, 'invalid_query'],
    ] as const)
      expect([path, await ask(path, 'DELETE')]).toMatchObject([path, { status, code }]);
    for (const method of ['GET', 'DELETE'])
      expect(await ask('?tool=work', method, STAYING)).toMatchObject({ status: 403, code: 'operation_not_allowed' });
    expect(await ask(`?key=${HASH8}`, 'DELETE')).toMatchObject({ status: 202, body: { cancelled: 3, running: 0 } });
    for (const id of leaked)
      expect((await finish(id, as(OPERATOR))).results[0]).toMatchObject({
        executed: 'no',
        error: { code: 'cancelled' },
      });
    expect((await ask(`?key=${HASH8}`)).body.items).toEqual([]);
    expect(await ask('?tool=block', 'DELETE')).toMatchObject({ status: 202, body: { cancelled: 0, running: 1 } });
    expect((await finish(block, as(OPERATOR))).results[0]?.error?.code).toBe('cancelled');
    free();
    expect((await finish(staying, as(OPERATOR))).results[0]?.success).toBe(true);
    expect(work.asked).toHaveLength(1);
  });
});
