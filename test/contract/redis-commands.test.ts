import { codesOf, createActor, fail, freshName } from '@recourse/test-support/keyed-client.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startWiredLab } from '@recourse/test-support/start-wired-lab.ts';
import { watchCommands } from '@recourse/test-support/watch-commands.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Stores } from '#src/wiring/wire-store.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

const ADMIT = 'evalsha session a';
// The same script swaps each step.
const SETTLE = ADMIT;

/** Holds every settlement back until it is let go. */
const createHeldSettling = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const state = { held: 0, holding: false };
  const hold = ({ sessions, keys }: Stores): Stores => ({
    keys,
    sessions: {
      ...sessions,
      admit: async (round) => {
        const admission = await sessions.admit(round);
        return {
          ...admission,
          settle: async (report) => {
            state.held += 1;
            if (state.holding) await promise;
            return admission.settle(report);
          },
        };
      },
    },
  });
  return { hold, state, release: () => resolve() };
};

const start = async (wrapStores: (stores: Stores) => Stores = (stores) => stores) => {
  const look = createActor('look');
  const write = createActor('write', { effects: 'write' });
  const bad = createActor('bad', { retries: 9 }, fail);
  const lab = await startWiredLab([look, write, bad], { wrapStores }, { REDIS_URL: redis.url, CIRCUIT_FAILURES: '0' });
  // A server that does not know a script yet is sent it once.
  await lab.post({ session_id: freshName(), calls: [{ name: 'bad' }] });
  // Nor does it know what a tenant keeps: its record is asked once.
  const key = freshName();
  for (let again = 0; again < 2; again += 1) await lab.post([{ name: 'write' }], { key });
  return { ...lab, commands: await watchCommands(redis.url) };
};

/** As many calls, no two the same. */
const callsOf = (name: string, count: number) =>
  Array.from({ length: count }, () => ({ name, arguments: { only: freshName() } }));

test.each([1, 8, 64])('a clean batch of %d calls in a session sends two commands', async (count) => {
  const { post, commands } = await start();
  const id = freshName();
  for (let batch = 0; batch < 3; batch += 1) {
    await commands.clear();
    const answer = await post({ session_id: id, calls: callsOf(batch === 1 ? 'write' : 'look', count) });
    expect(new Set(codesOf(answer))).toEqual(new Set(['ok']));
    await expect.poll(commands.seen).toEqual([ADMIT, SETTLE]);
  }
  expect(await commands.seen()).toEqual([ADMIT, SETTLE]);
});

test.each([1, 8, 64])(
  'a failing batch of %d calls sends two commands, and so does the one that makes up for it',
  async (count) => {
    const { post, commands } = await start();
    const id = freshName();
    await commands.clear();
    await post({ session_id: id, calls: callsOf('bad', count) });
    expect(await commands.seen()).toEqual([ADMIT, SETTLE]);
    await commands.clear();
    await post({ session_id: id, calls: callsOf('bad', count) });
    expect(await commands.seen()).toEqual([ADMIT, SETTLE]);
  },
);

test.each([1, 8, 64])('a batch of %d calls without a session sends none, clean or failing', async (count) => {
  const { post, commands } = await start();
  await commands.clear();
  await post(callsOf('look', count));
  await post([...callsOf('bad', count - 1), { name: 'nix' }]);
  expect(await commands.seen()).toEqual([]);
});

test('tools, unknown names and bad entries of all kinds in one batch are still two commands; a batch without calls is none', async () => {
  const { post, commands } = await start();
  const id = freshName();
  await commands.clear();
  await post({ session_id: id, calls: [...callsOf('look', 9), ...callsOf('bad', 9), { name: 'nix' }, 7] });
  expect(await commands.seen()).toEqual([ADMIT, SETTLE]);
  await commands.clear();
  await post({ session_id: id, calls: [] });
  expect(await commands.seen()).toEqual([]);
});

test('a clean batch is answered while its second command is held back', async () => {
  const settling = createHeldSettling();
  const { post, commands, session } = await start(settling.hold);
  const id = freshName();
  settling.state.holding = true;
  await commands.clear();
  expect(codesOf(await post({ session_id: id, calls: callsOf('look', 8) }))).toEqual(Array(8).fill('ok'));
  expect(await commands.seen()).toEqual([ADMIT]);
  settling.release();
  await expect.poll(commands.seen).toEqual([ADMIT, SETTLE]);
  expect((await session(id)).calls).toHaveLength(8);
});

test.each([
  ['that fails', 'bad', false],
  ['in which a retry succeeds', 'bad', true],
])('a batch %s is answered when its second command is', async (_what, name, isRetry) => {
  const settling = createHeldSettling();
  const look = createActor('bad', { retries: 9 }, fail);
  const lab = await startWiredLab([look], { wrapStores: settling.hold }, { REDIS_URL: redis.url });
  const id = freshName();
  if (isRetry) {
    await lab.post({ session_id: id, calls: callsOf(name, 1) });
    look.act(() => 'well');
  }
  settling.state.holding = true;
  settling.state.held = 0;
  let answered = false;
  const answer = lab.post({ session_id: id, calls: callsOf(name, 2) }).finally(() => {
    answered = true;
  });
  await expect.poll(() => settling.state.held).toBe(1);
  // A whole batch that need not wait.
  await lab.post([{ name: 'echo', arguments: { text: 'x' } }]);
  expect(answered).toBe(false);
  settling.release();
  expect(codesOf(await answer)).toEqual(isRetry ? ['ok', 'ok'] : ['tool_exception', 'tool_exception']);
});

// Each step of a record is a swap; that of the last has the answer with it.
const KEYED = 'evalsha keyed a';

test('a keyed batch opens its record, marks each write, and keeps the results together with its request id', async () => {
  const { post, commands } = await start();
  const [reads, writes] = [freshName(), freshName()];
  await commands.clear();
  await post(callsOf('look', 8), { key: reads });
  expect(await commands.seen()).toEqual([KEYED, KEYED]);
  await commands.clear();
  const calls = callsOf('write', 3);
  await post(calls, { key: writes });
  // Marks that come while one is under way go together.
  const marked = await commands.seen();
  expect(new Set(marked)).toEqual(new Set([KEYED]));
  expect(marked.length).toBeLessThanOrEqual(5);
  await commands.clear();
  await post(calls, { key: writes });
  // Compares, and notes the request id.
  expect(await commands.seen()).toEqual([KEYED, 'evalsha answer a']);
  await commands.clear();
  await post([{ name: 'look' }], { key: writes });
  expect(await commands.seen()).toEqual([KEYED]);
});

test('a keyed batch of a session sends both, the results together with the settlement of its round', async () => {
  const { post, commands } = await start();
  await commands.clear();
  await post({ session_id: freshName(), calls: callsOf('write', 1) }, { key: freshName() });
  await expect.poll(commands.seen).toEqual([KEYED, ADMIT, KEYED, SETTLE]);
});
