import { expect, test } from 'vitest';
import { SessionView } from '#src/contract/session.ts';
import type { SessionRecord, ToolRecord } from '#src/executor/session-store.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createRunReducer } from '#src/session-view/create-run-reducer.ts';
import { createSessionReader, type SessionReaderOptions } from '#src/session-view/session-reader.ts';
import { defineReducer } from '#src/tools/define-reducer.ts';
import { toEntry, toFailedEntry } from '#test/tools/journal-entries.ts';

const EMPTY: SessionRecord = { mode: 'memory', rounds: 0, calls: 0, spent: 0, tools: [], journal: [] };

const SETTINGS: SessionReaderOptions['settings'] = {
  sessionRetries: 20,
  cooldownMs: 900_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 200,
};

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

const TOOLS = new Map([
  ['search', { retries: 2, maxCallsPerSession: null }],
  ['book', { retries: 1, maxCallsPerSession: 5 }],
  ['no_retries', { retries: 0, maxCallsPerSession: 0 }],
]);

const runReducer = createRunReducer({
  runHosted: () => Promise.reject(new Error('There are no hosts here.')),
  maxResultBytes: 100_000,
  redactor: createRedactor({ secrets: [] }),
  now: () => performance.now(),
});

/** The view of one record, checked against the contract. */
const read = async (
  record: Partial<SessionRecord>,
  options: Partial<SessionReaderOptions> = {},
  mayUse: (tool: string) => boolean = () => true,
) => {
  const keys: string[] = [];
  const readSession = createSessionReader({
    sessions: {
      read: async (key) => {
        keys.push(key);
        return { ...EMPTY, ...record };
      },
    },
    findTool: (name) => TOOLS.get(name),
    reducers: () => [],
    pendingOf: async () => [],
    runReducer,
    settings: SETTINGS,
    ...options,
  });
  const view = await readSession('key', mayUse);
  expect(keys).toEqual(['key']);
  expect(SessionView.safeParse(view).error).toBeUndefined();
  return view;
};

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

const JOURNAL = [toEntry(), toFailedEntry({ step: 2 })].map((entry) => JSON.stringify(entry));

const countCalls = defineReducer({ name: 'count_calls', initial: 0, reduce: (count) => count + 1 });
const keepOutcomes = defineReducer<readonly string[]>({
  name: 'outcomes',
  initial: [],
  reduce: (outcomes, { outcome }) => [...outcomes, outcome],
});

test('every reducer sees every call once, oldest first, and gives its slice', async () => {
  const view = await read({ journal: [...JOURNAL, 'garbage'] }, { reducers: () => [countCalls, keepOutcomes] });
  expect(view.slices).toEqual({ count_calls: 2, outcomes: ['success', 'retry'] });
  expect(view).not.toHaveProperty('slice_errors');
  expect(view.calls.map(({ step }) => step)).toEqual([1, 2]);
});

test('of a session never seen every reducer shows where it begins', async () => {
  const view = await read({}, { reducers: () => [countCalls, keepOutcomes] });
  expect(view.slices).toEqual({ count_calls: 0, outcomes: [] });
});

test('without a journal there are no slices: they would say that nothing ever happened', async () => {
  const settings = { ...SETTINGS, journal: 0 };
  expect((await read({}, { settings, reducers: () => [countCalls] })).slices).toEqual({});
});

test('reducers are asked for at every reading: a tools directory may have changed', async () => {
  let reducers = [countCalls];
  const options = { reducers: () => reducers };
  expect(Object.keys((await read({}, options)).slices)).toEqual(['count_calls']);
  reducers = [keepOutcomes];
  expect(Object.keys((await read({}, options)).slices)).toEqual(['outcomes']);
});

test('a reducer that fails leaves its slice out and says why; the others and the calls are untouched', async () => {
  const throws = defineReducer<number>({
    name: 'throws',
    initial: 0,
    reduce: () => {
      throw new Error('first line\nsecond line, Bearer abcdefghijklmnop');
    },
  });
  const meddles = defineReducer<number>({
    name: 'meddles',
    initial: 0,
    reduce: (count, entry) => {
      Reflect.set(entry, 'outcome', 'success');
      Object.assign(entry, { message: 'rewritten' });
      return count;
    },
  });
  const grows = defineReducer<string>({ name: 'grows', initial: '', reduce: () => 'x'.repeat(200_000) });
  const infinite = defineReducer<unknown>({ name: 'infinite', initial: 0, reduce: () => 10n });
  const reducers = () => [throws, meddles, grows, infinite, keepOutcomes];
  const view = await read({ journal: JOURNAL }, { reducers });
  expect(view.slices).toEqual({ outcomes: ['success', 'retry'] });
  expect(view.slice_errors).toEqual({
    throws: 'Error: first line second line, Bearer [redacted]',
    meddles: expect.stringMatching(/^TypeError: Cannot assign to read only property 'message'/),
    grows: "Tool 'grows' ran but its result is larger than 100000 bytes. Ask for less.",
    infinite:
      "Tool 'infinite' ran but returned a value that cannot be used: a BigInt is not JSON; return it as a string. Use another tool, or say what could not be done.",
  });
  expect(view.calls.map(({ message }) => message)).toEqual(['', 'Error: no.']);
});

test('a reducer may be called as a member of every object is', async () => {
  const named = defineReducer({ name: '__proto__', initial: 0, reduce: (count: number) => count + 1 });
  const view = await read({ journal: JOURNAL }, { reducers: () => [named] });
  expect(JSON.stringify(view.slices)).toBe('{"__proto__":2}');
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
