import { createBudgetSession, ROOMY } from '@recourse/test-support/budget-session.ts';
import { toRoundJournal } from '@recourse/test-support/marks.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SessionStore } from '#src/executor/session-store.ts';
import type { StoreUse } from '#src/memory/bounded-store.ts';
import { createStoreMemory } from '#src/memory/store-memory.ts';
import { createRequestSessionStore } from '#src/sessions/request-session-store.ts';

const none = async (): Promise<void> => undefined;
const create = (memory = roomyMemory()) => {
  const clock = createManualClock();
  const store = createMemorySessionStore({ mode: 'memory', settings: ROOMY, memory, now: clock.now });
  return { clock, store, open: () => createBudgetSession({ store, age: none, forget: none }, { x: 0 }) };
};

test('a session lives from its last batch on', async () => {
  const { clock, open } = create();
  const session = open();
  await session.run({ x: 'F' });
  clock.advance(ROOMY.ttlMs - 1);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
  clock.advance(ROOMY.ttlMs - 1);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
  clock.advance(ROOMY.ttlMs + 1);
  expect((await session.begin(['x'])).decisions).toEqual(['free']);
});

test('beyond its bytes the least recently used session is forgotten', async () => {
  // Three tenths of it are for sessions: two of them and a bit.
  const { open } = create(createStoreMemory({ totalBytes: 12_000 }));
  const [old, used, newest] = [open(), open(), open()];
  await used.run({ x: 'F' });
  await old.run({ x: 'F' });
  await used.begin(['x']);
  await newest.run({ x: 'F' });
  expect((await used.begin(['x'])).decisions).toEqual(['tool']);
  expect((await newest.begin(['x'])).decisions).toEqual(['tool']);
  expect((await old.begin(['x'])).decisions).toEqual(['free']);
});

test('cleared, it has forgotten every session, and what was under way settles nowhere', async () => {
  const { store, open } = create();
  const session = open();
  await session.run({ x: 'F' });
  const other = await session.begin(['y']);
  store.clear();
  await other.end({ y: 'F' });
  expect((await session.begin(['x', 'y'])).decisions).toEqual(['free', 'free']);
});

test('without a session a budget holds for the one request', async () => {
  const store = createRequestSessionStore({ settings: ROOMY });
  const session = createBudgetSession({ store, age: none, forget: none });
  const first = await session.begin(['x']);
  expect([first.admission.scope, first.admission.mode]).toEqual(['request', 'memory']);
  expect((await first.end({ x: 'F' }))('x')).toMatchObject({ failures: 1, remaining: 2 });
  expect((await session.run({ x: 'F' })).budgetOf('x')).toMatchObject({ failures: 1, remaining: 2 });
});

const mark = fc.constantFrom('F', 'S', 'M', 'T', 'I');

test('after its one round a request has the budgets that a new session has', async () => {
  const settings = { ...ROOMY, sessionRetries: 1 };
  const now = createManualClock().now;
  const endings = fc.dictionary(fc.constantFrom('x', 'y', '_unknown'), mark, { minKeys: 1 });
  await fc.assert(
    fc.asyncProperty(endings, fc.nat(3), async (marks, retries) => {
      const run = async (store: SessionStore) => {
        const session = createBudgetSession({ store, age: none, forget: none }, { x: retries });
        const { budgetOf } = await session.run(marks, { error: `it\ud83dfailed ${'again '.repeat(40)}` });
        return Object.keys(marks).map(budgetOf);
      };
      const request = createRequestSessionStore({ settings });
      const session = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
      expect(await run(request)).toEqual(await run(session));
    }),
    { numRuns: 200, seed: 20_261_123 },
  );
});

test('reading a session does not prolong its life', async () => {
  const { clock, store, open } = create();
  const session = open();
  await session.run({ x: 'F' });
  clock.advance(ROOMY.ttlMs - 1);
  expect((await store.read(session.key)).rounds).toBe(1);
  clock.advance(2);
  expect((await store.read(session.key)).rounds).toBe(0);
  expect((await session.begin(['x'])).decisions).toEqual(['free']);
});

test('a request is no session: it has no step, and nothing of it can be read', async () => {
  const store = createRequestSessionStore({ settings: ROOMY });
  const session = createBudgetSession({ store, age: none, forget: none });
  const round = await session.begin(['x']);
  expect(round.admission.step).toBe(0);
  await round.end({ x: 'F' });
  await round.admission.addLate('{}');
  await store.reset(session.key, null);
  await store.end(session.key);
  expect(await store.read(session.key)).toEqual({
    mode: 'memory',
    rounds: 0,
    calls: 0,
    spent: 0,
    tools: [],
    journal: [],
  });
});

const LINE = '0123456789'.repeat(100);

test('a tenant that fills journals and sessions many times over takes nothing from another', async () => {
  const clock = createManualClock();
  const evicted: StoreUse[] = [];
  const memory = createStoreMemory({ totalBytes: 100_000, watch: (_name, use) => void evicted.push(use) });
  const settings = { ...ROOMY, journal: 5 };
  const store = createMemorySessionStore({ mode: 'memory', settings, memory, now: clock.now });
  const write = async (sessionKey: string): Promise<void> => {
    const session = createBudgetSession({ store, age: none, forget: none }, { x: 0 }, sessionKey);
    const { admission } = await session.begin(['x']);
    await admission.settle({
      outcomes: [{ name: 'x', failed: true, succeeded: false, interrupted: false, error: 'no' }],
      calls: [],
      journal: toRoundJournal([{ tool: 'x', json: `{"text":"${LINE}"}` }]),
    });
  };
  await write('quiet:1');
  for (let count = 0; count < 500; count += 1) await write(`flood:${count}`);
  const kept = await store.read('quiet:1');
  expect([kept.tools.map(({ failures }) => failures), kept.journal.length]).toEqual([[1], 1]);
  expect((await store.read('flood:499')).journal).toHaveLength(1);
  expect((await store.read('flood:0')).rounds).toBe(0);
  const [journals, sessions] = evicted;
  expect(journals?.bytes).toBeLessThanOrEqual(33_500);
  expect(sessions?.bytes).toBeLessThanOrEqual(30_000);
  expect(sessions?.evictions.share).toBeGreaterThan(400);
});

test('what is forgotten takes its journal with it', async () => {
  const clock = createManualClock();
  const settings = { ...ROOMY, journal: 5 };
  const store = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now: clock.now });
  const session = createBudgetSession({ store, age: none, forget: none });
  const { admission } = await session.begin(['x']);
  await admission.settle({ outcomes: [], calls: [], journal: toRoundJournal([{ tool: 'x', json: '{"n":1}' }]) });
  expect((await store.read(session.key)).journal).toEqual(['{"n":1,"retries_left":2}']);
  store.clear();
  await admission.addLate('{}');
  expect((await store.read(session.key)).journal).toEqual([]);
});
