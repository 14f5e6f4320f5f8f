import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { toKeyEntry } from '#test/auth/access-client.ts';
import {
  codesOf,
  createActor,
  fail,
  freshName,
  type KeyedAnswer,
  startLab,
  warningsOf,
} from '#test/support/keyed-client.ts';
import { startRedisServer } from '#test/support/redis-server.ts';
import { timeLimit } from '#test/support/time-limit.ts';

// What can be lost gives way before Redis is full, so that what must not be lost always finds room.

const MIB = 1024 * 1024;
const WAIT = { timeout: timeLimit(20_000), interval: 50 };

/** A small Redis that evicts nothing, as the shipped one, and a connection to it. */
const startSmallRedis = async () => {
  const server = await startRedisServer({ settings: ['--maxmemory', '16mb', '--maxmemory-policy', 'noeviction'] });
  onTestFinished(server.stop);
  const direct = new Redis(server.url);
  onTestFinished(() => direct.disconnect());
  const usedBytes = async () => Number(/^used_memory:(\d+)/m.exec(await direct.info('memory'))?.[1]);
  return { url: server.url, direct, usedBytes };
};

/** Five at a time, so that a store which serves is never too slow for them. */
const inTurn = async (count: number, act: (index: number) => Promise<unknown>): Promise<void> => {
  for (let first = 0; first < count; first += 5)
    await Promise.all(Array.from({ length: Math.min(5, count - first) }, (_, offset) => act(first + offset)));
};

const readMetrics = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();

/** On a busy machine one answer of Redis may be late. A full Redis stays full. */
const isAccepted = (send: () => Promise<KeyedAnswer>) =>
  expect.poll(async () => codesOf(await send()), WAIT).toEqual(['ok']);

const FULL = /^recourse_session_store_errors_total\{.*reason="oom"/m;

// A session of these takes some 40 kB.
const manyCalls = () =>
  Array.from({ length: 64 }, () => ({ name: 'echo', arguments: { text: freshName().padEnd(200, '.') } }));

const failing = () => createActor('bad', { retries: 9 }, fail);

test(
  'the journals of the oldest sessions give way to new ones and say so; budgets and keyed writes find room',
  async () => {
    const { url, usedBytes } = await startSmallRedis();
    const write = createActor('write', { effects: 'write' });
    const { post, session, service } = await startLab([failing(), write], { REDIS_URL: url });
    const oldest = freshName();
    for (let round = 0; round < 3; round += 1)
      await post({ session_id: oldest, calls: [{ name: 'bad', arguments: { round } }] });
    expect((await session(oldest)).calls).toHaveLength(3);
    // More than fits with journals.
    await inTurn(500, () => post({ session_id: freshName(), calls: manyCalls() }));
    const newest = freshName();
    await post({ session_id: newest, calls: manyCalls() });
    const view = await session(oldest);
    expect(view).toMatchObject({ calls: [], truncated: true, session: { mode: 'redis', rounds: 3, retries_used: 2 } });
    expect(view.tools).toContainEqual(expect.objectContaining({ name: 'bad', failures: 3, used: 2 }));
    const next = await post({ session_id: oldest, calls: [{ name: 'bad', arguments: { round: 3 } }] });
    expect(next.results[0]?.retry).toMatchObject({ mode: 'redis', used: 3, remaining: 6 });
    for (let sent = 0; sent < 20; sent += 1)
      await isAccepted(() => post([{ name: 'write', arguments: { only: freshName() } }], { key: freshName() }));
    await expect.poll(usedBytes, WAIT).toBeLessThan(0.8 * 16 * MIB);
    const metrics = await readMetrics(service.url);
    expect(metrics).not.toMatch(FULL);
    expect(metrics).toMatch(/^recourse_session_store_dropped_total\{kind="journal"\} \d{2,}$/m);
    expect(metrics).toMatch(/^recourse_session_store_memory_max_bytes 16777216$/m);
    expect(metrics).toMatch(/^recourse_session_store_droppable_bytes [1-9]\d{5,}$/m);
  },
  timeLimit(60_000),
);

test(
  'a tenant whose results fill its part of Redis changes nothing for another, and none of its writes runs twice',
  async () => {
    const { url } = await startSmallRedis();
    const look = createActor('look', {}, () => 'x'.repeat(8 * 1024));
    const write = createActor('write', { effects: 'write' }, () => 'y'.repeat(8 * 1024));
    const { post, service } = await startLab([look, write], {
      REDIS_URL: url,
      API_KEYS: `${toKeyEntry('acme', 'a')},${toKeyEntry('other', 'b')}`,
    });
    const modeOf = async () => {
      const { results } = await post({ session_id: freshName(), calls: [{ name: 'nix' }] }, { apiKey: 'b' });
      return results[0]?.retry?.mode;
    };
    await expect.poll(modeOf, WAIT).toBe('redis');
    const first = freshName();
    const writes = [{ name: 'write', arguments: { only: first } }];
    await post(writes, { apiKey: 'a', key: first });
    const large = Array.from({ length: 64 }, () => ({ name: 'look', arguments: { only: freshName() } }));
    const notKept: string[] = [];
    for (let sent = 0; sent < 40; sent += 1) {
      const answer = await post(large, { apiKey: 'a', key: freshName() });
      expect(new Set(codesOf(answer))).toEqual(new Set(['ok']));
      notKept.push(...warningsOf(answer.results[0]));
      await isAccepted(() =>
        post([{ name: 'write', arguments: { only: freshName() } }], { apiKey: 'b', key: freshName() }),
      );
    }
    expect(new Set(notKept)).toEqual(new Set(['idempotency_not_recorded']));
    const ran = write.asked.filter(({ only }) => only === first);
    expect(ran).toHaveLength(1);
    const again = await post(writes, { apiKey: 'a', key: first });
    expect(['ok', 'outcome_unknown']).toContain(codesOf(again)[0]);
    expect(write.asked.filter(({ only }) => only === first)).toHaveLength(1);
    expect(await readMetrics(service.url)).not.toMatch(FULL);
  },
  timeLimit(60_000),
);

// One script: Redis looks at its memory before it, and nobody drops anything meanwhile.
const FILL = "for i = 1, ARGV[1] do redis.call('SET', 'foreign:' .. i, string.rep('x', 100000)) end";

/** Fills a Redis with keys of somebody else until it refuses writes. */
const fillUp = async (direct: Redis, usedBytes: number): Promise<void> => {
  const count = Math.ceil((16.5 * MIB - usedBytes) / 100_000);
  // Sent together: the second command finds what the first has left.
  const answers = await direct.pipeline().eval(FILL, 0, count).set('foreign:last', '').exec();
  expect(String(answers?.[1]?.[0])).toContain('OOM');
};

test(
  'in a Redis that somebody else has filled, what can be lost is dropped until budgets are counted there again',
  async () => {
    const { url, direct, usedBytes } = await startSmallRedis();
    const { post, service } = await startLab([failing()], { REDIS_URL: url, CIRCUIT_FAILURES: '0' });
    const failOnce = async (id: string) => {
      const { results } = await post({ session_id: id, calls: [{ name: 'bad', arguments: { only: freshName() } }] });
      return results[0]?.retry?.mode;
    };
    const namedBytes = async () => Number(await direct.hget('recourse:{kept}', ''));
    const keepMore = async () => {
      await inTurn(25, () => post({ session_id: freshName(), calls: manyCalls() }));
      return namedBytes();
    };
    await expect.poll(keepMore, WAIT).toBeGreaterThan(3 * MIB);
    await fillUp(direct, await usedBytes());
    await expect.poll(() => failOnce(freshName()), WAIT).toBe('redis');
    expect(await readMetrics(service.url)).toMatch(/^recourse_session_store_dropped_total\{kind="journal"\} \d{2,}$/m);
    expect(await direct.exists('foreign:1')).toBe(1);
  },
  timeLimit(60_000),
);
