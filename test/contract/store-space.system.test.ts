import { fillRedis } from '@recourse/test-support/fill-redis.ts';
import {
  codesOf,
  createActor,
  fail,
  freshName,
  type KeyedAnswer,
  type Lab,
  startLab,
  warningsOf,
} from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';

// What is dear and can be missing is not written where Redis fills, so that what must not be missing always finds room.

const MAX = 32 * 1024 * 1024;
const WAIT = { timeout: timeLimit(20_000), interval: 50 };

/** A service on a small Redis that evicts nothing, as the shipped one, and ways to fill that. */
const startSpaceLab = async () => {
  const server = await startRedisServer({ settings: ['--maxmemory', String(MAX), '--maxmemory-policy', 'noeviction'] });
  onTestFinished(server.stop);
  const direct = new Redis(server.url);
  onTestFinished(() => direct.disconnect());
  const bad = createActor('bad', { retries: 9 }, fail);
  const look = createActor('look', {}, () => 'x'.repeat(100));
  const write = createActor('write', { effects: 'write' });
  const build = createHeldTool('build');
  onTestFinished(build.release);
  const lab = await startLab([bad, look, write, build], { REDIS_URL: server.url, CIRCUIT_FAILURES: '0' });
  return {
    lab,
    look,
    write,
    build,
    /** Fills Redis to this share, and waits until the service knows. */
    fill: async (share: number): Promise<void> => {
      await fillRedis(direct, share);
      const known = () => lab.service.metric('recourse_session_store_memory_used_bytes');
      await expect.poll(known, WAIT).toBeGreaterThan((share - 0.005) * MAX);
    },
    free: async () => direct.unlink(...(await direct.keys('foreign:*'))),
  };
};

/** On a busy machine one answer of Redis may be late. A full Redis stays full. */
const accepted = async (send: () => Promise<KeyedAnswer>): Promise<KeyedAnswer> => {
  let answer = await send();
  const isAway = () => codesOf(answer).includes('store_unavailable');
  const sendAgain = async () => {
    if (isAway()) answer = await send();
    return isAway();
  };
  await expect.poll(sendAgain, WAIT).toBe(false);
  return answer;
};

/** Two failing rounds in a session of their own: where they were counted, and what the journal has of them. */
const failTwice = async ({ post, session }: Lab) => {
  const id = freshName();
  const failOnce = () => post({ session_id: id, calls: [{ name: 'bad', arguments: { only: freshName() } }] });
  await failOnce();
  const { results } = await failOnce();
  const { calls, truncated = false } = await session(id);
  return { mode: results[0]?.retry?.mode, used: results[0]?.retry?.used, calls: calls.length, truncated };
};

const countedIn = (lab: Lab) => expect.poll(() => failTwice(lab), WAIT);

test(
  'a Redis that fills keeps no results and journals from 75 % on, no pending calls from 85 % on, and budgets and marks to the end; freed, it keeps all again',
  async () => {
    const { lab, look, write, build, fill, free } = await startSpaceLab();
    const { begin, finish } = createPendingClient(lab.service.url);
    const sendKeyed = (key: string) =>
      accepted(() => lab.post([{ name: 'look' }, { name: 'write', arguments: { key } }], { key }));
    const runsOf = (key: string) => write.asked.filter((input) => input['key'] === key).length;
    /** Sends a batch twice under its key: what the first answer warns of, and what the second one comes to. */
    const sendTwice = async () => {
      const key = freshName();
      const first = await sendKeyed(key);
      const looks = look.asked.length;
      const second = await sendKeyed(key);
      expect(runsOf(key)).toBe(1);
      return { warnings: warningsOf(first.results[1]), codes: codesOf(second), looks: look.asked.length - looks };
    };
    await countedIn(lab).toEqual({ mode: 'redis', used: 1, calls: 2, truncated: false });
    expect(await sendTwice()).toEqual({ warnings: [], codes: ['ok', 'ok'], looks: 0 });

    await fill(0.77);
    await countedIn(lab).toEqual({ mode: 'redis', used: 1, calls: 0, truncated: true });
    const marked = { warnings: ['idempotency_not_recorded'], codes: ['ok', 'outcome_unknown'], looks: 1 };
    expect(await sendTwice()).toEqual(marked);
    const session = freshName();
    const pending = { session_id: session, calls: [{ id: 'a', name: 'build', arguments: { only: 'first' } }] };
    const first = await begin(pending);
    expect(first.results[0]?.outcome).toBe('pending');

    await fill(0.87);
    const refused = await begin({ ...pending, calls: [{ id: 'b', name: 'build', arguments: { only: 'second' } }] });
    expect(codesOf(refused)).toEqual(['call_limit_exceeded']);
    expect(refused.results[0]?.message).toContain('the store of pending calls is more than 85 % full');
    const joined = await begin(pending);
    expect(joined.results[0]).toMatchObject({ outcome: 'pending', replayed: true });
    build.release();
    expect((await finish(first.requestId)).results[0]?.value).toBe('build done');

    await fill(0.985);
    await countedIn(lab).toEqual({ mode: 'redis', used: 1, calls: 0, truncated: true });
    expect(await sendTwice()).toEqual(marked);
    const metrics = await (await fetch(`${lab.service.url}/metrics`)).text();
    expect(metrics).not.toMatch(/^recourse_session_store_errors_total\{.*reason="oom"/m);
    for (const kind of ['journals', 'results', 'arguments'])
      expect(metrics).toMatch(
        new RegExp(`^recourse_session_store_not_kept_total\\{kind="${kind}",limit="store"\\} [1-9]`, 'm'),
      );
    expect(lab.service.logLines()).toContainEqual(
      expect.objectContaining({ level: 40, kind: 'journals', msg: 'the store is nearly full: this kind is not kept' }),
    );

    await free();
    const freedAt = performance.now();
    await countedIn(lab).toEqual({ mode: 'redis', used: 1, calls: 2, truncated: false });
    expect(performance.now() - freedAt).toBeLessThan(timeLimit(2000));
    expect(await sendTwice()).toEqual({ warnings: [], codes: ['ok', 'ok'], looks: 0 });
  },
  timeLimit(60_000),
);
