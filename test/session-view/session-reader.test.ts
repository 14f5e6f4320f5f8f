import { expect, test } from 'vitest';
import type { ToolRecord } from '#src/executor/session-store.ts';
import { read, SETTINGS } from './session-reader-lab.ts';

const toRecord = (about: Partial<ToolRecord> = {}): ToolRecord => ({
  name: 'search',
  failures: 0,
  used: 0,
  open: 0,
  failedAgoMs: null,
  lastError: '',
  calls: 0,
  streak: { failed: 0, same: 0 },
  ...about,
});

test('a session never seen is empty, and its limits are those of the service', async () => {
  expect(await read({})).toEqual({
    session: {
      mode: 'memory',
      rounds: 0,
      max_rounds: null,
      calls: 0,
      max_calls: null,
      retries_used: 0,
      retries_limit: 20,
    },
    tools: [],
    slices: {},
    calls: [],
  });
});

test('totals stand beside the limits that are set', async () => {
  const settings = { ...SETTINGS, maxCalls: 100, maxRounds: 25 };
  expect((await read({ mode: 'redis', rounds: 4, calls: 9, spent: 3 }, { settings })).session).toEqual({
    mode: 'redis',
    rounds: 4,
    max_rounds: 25,
    calls: 9,
    max_calls: 100,
    retries_used: 3,
    retries_limit: 20,
  });
});

test('a tool shows its budget, its streak and, where it limits them, its calls; tools come by name', async () => {
  const view = await read({
    spent: 2,
    tools: [
      toRecord({ failures: 2, used: 1, open: 1, failedAgoMs: 10, lastError: 'Error: no.', calls: 7 }),
      toRecord({ name: 'book', calls: 3, lastError: 'of old', streak: { failed: 0, same: 4 } }),
    ],
  });
  expect(view.tools).toEqual([
    {
      name: 'book',
      failing: false,
      failures: 0,
      used: 0,
      running: 0,
      limit: 1,
      exhausted: false,
      last_error: '',
      streak: { failed: 0, same_answer: 4 },
      calls: 3,
      max_calls: 5,
    },
    {
      name: 'search',
      failing: true,
      failures: 2,
      used: 1,
      running: 1,
      limit: 2,
      exhausted: false,
      last_error: 'Error: no.',
      streak: { failed: 0, same_answer: 0 },
      calls: null,
      max_calls: null,
    },
  ]);
});

// `search` has two retries, the session twenty, and blocked tools are free again after 900 s.
const FAILING = { failures: 3, failedAgoMs: 1000 } as const;

test.for([
  ['has failed no round', { failures: 0, used: 2 }, 2, false],
  ['has a retry left', { ...FAILING, used: 1 }, 1, false],
  ['has used all its retries', { ...FAILING, used: 2 }, 2, true],
  ['has its last retry running', { ...FAILING, used: 1, open: 1 }, 2, false],
  ['has used all, and another is still counted as running', { ...FAILING, used: 2, open: 1 }, 3, true],
  ['has retries of its own in a session that has none', { ...FAILING, used: 1 }, 20, true],
  ['runs the last retry of its session', { ...FAILING, used: 0, open: 1 }, 20, false],
  ['has cooled down', { ...FAILING, used: 2, failedAgoMs: 900_000 }, 2, false],
  ['has almost cooled down', { ...FAILING, used: 2, failedAgoMs: 899_999 }, 2, true],
  ['has no retries to begin with, and failed', { ...FAILING, name: 'no_retries' }, 0, true],
  ['is unknown, for the third time', { ...FAILING, name: '_unknown', used: 2 }, 2, false],
  ['is unknown, for the fourth time', { ...FAILING, name: '_unknown', used: 3 }, 3, true],
  ['is no tool any more', { ...FAILING, name: 'gone', used: 2 }, 2, false],
] as const)(
  'exhausted is what admitting would refuse (rule 5 of the budget): a tool that %s',
  async ([, about, spent, exhausted]) => {
    const [tool] = (await read({ spent, tools: [toRecord(about)] })).tools;
    expect(tool?.exhausted).toBe(exhausted);
  },
);

test('with a cooldown of 0 a blocked tool stays blocked', async () => {
  const record = toRecord({ ...FAILING, used: 2, failedAgoMs: 10 ** 9 });
  const [tool] = (await read({ tools: [record] }, { settings: { ...SETTINGS, cooldownMs: 0 } })).tools;
  expect(tool?.exhausted).toBe(true);
});

test('unknown names share a limit of three; a tool that is gone has what it has used', async () => {
  const { tools } = await read({ tools: [toRecord({ name: '_unknown', used: 1 }), toRecord({ name: 'x', used: 2 })] });
  expect(tools.map(({ name, limit }) => [name, limit])).toEqual([
    ['_unknown', 3],
    ['x', 2],
  ]);
});

test('pending calls are listed, oldest first, those of tools that may be used', async () => {
  const toPending = (call: string, tool: string, index: number) => ({
    spec: { tool, requestId: 'request-of-the-test', index },
    pending: {
      call,
      state: 'queued' as const,
      since: '2026-11-23T12:00:00.000Z',
      expires_at: '2026-11-23T13:00:00.000Z',
      poll_after_ms: 2000,
      progress: null,
      approval: null,
    },
  });
  const pendingOf = async () => [
    toPending('c_1', 'book', 0),
    toPending('c_2', 'search', 1),
    toPending('c_3', 'book', 2),
  ];
  const { pending } = await read({}, { pendingOf }, (tool) => tool === 'book');
  const about = { tool: 'book', request_id: 'request-of-the-test', state: 'queued' };
  const times = { since: '2026-11-23T12:00:00.000Z', expires_at: '2026-11-23T13:00:00.000Z' };
  expect(pending).toEqual([
    { call: 'c_1', index: 0, ...about, ...times },
    { call: 'c_3', index: 2, ...about, ...times },
  ]);
});

test('a store that cannot answer is heard of, and no empty session made of it', async () => {
  const away = new Error('away');
  await expect(read({}, { sessions: { read: () => Promise.reject(away) } })).rejects.toBe(away);
});
