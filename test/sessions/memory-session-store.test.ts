import { expect, test } from 'vitest';
import { createMemoryJournals } from '#src/sessions/memory-journals.ts';
import { createMemorySessionStore, createRequestSessionStore } from '#src/sessions/memory-session-store.ts';
import { createSessionState } from '#src/sessions/rules/session-state.ts';
import { createBudgetSession, ROOMY } from '#test/support/budget-session.ts';
import { createManualClock } from '#test/support/session-stores-under-test.ts';

const none = async (): Promise<void> => undefined;
const create = (maxSessions: number) => {
  const clock = createManualClock();
  const store = createMemorySessionStore({ mode: 'memory', settings: ROOMY, maxSessions, now: clock.now });
  return { clock, store, open: () => createBudgetSession({ store, age: none, forget: none }, { x: 0 }) };
};

test('a session lives from its last batch on', async () => {
  const { clock, open } = create(10);
  const session = open();
  await session.run({ x: 'F' });
  clock.advance(ROOMY.ttlMs - 1);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
  clock.advance(ROOMY.ttlMs - 1);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
  clock.advance(ROOMY.ttlMs + 1);
  expect((await session.begin(['x'])).decisions).toEqual(['free']);
});

test('beyond its size the least recently used session is forgotten', async () => {
  const { open } = create(2);
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
  const { store, open } = create(10);
  const session = open();
  await session.run({ x: 'F' });
  const other = await session.begin(['y']);
  store.clear();
  await other.end({ y: 'F' });
  expect((await session.begin(['x', 'y'])).decisions).toEqual(['free', 'free']);
});

test('without a session a budget holds for the one request', async () => {
  const store = createRequestSessionStore({ settings: ROOMY, now: createManualClock().now });
  const session = createBudgetSession({ store, age: none, forget: none });
  const first = await session.begin(['x']);
  expect([first.admission.scope, first.admission.mode]).toEqual(['request', 'memory']);
  expect((await first.end({ x: 'F' }))('x')).toMatchObject({ failures: 1, remaining: 2 });
  expect((await session.run({ x: 'F' })).budgetOf('x')).toMatchObject({ failures: 1, remaining: 2 });
});

test('reading a session does not prolong its life', async () => {
  const { clock, store, open } = create(10);
  const session = open();
  await session.run({ x: 'F' });
  clock.advance(ROOMY.ttlMs - 1);
  expect((await store.read(session.key)).rounds).toBe(1);
  clock.advance(2);
  expect((await store.read(session.key)).rounds).toBe(0);
  expect((await session.begin(['x'])).decisions).toEqual(['free']);
});

test('a request is no session: it has no step, and nothing of it can be read', async () => {
  const store = createRequestSessionStore({ settings: ROOMY, now: createManualClock().now });
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

test('journals share a size: the one that was written least recently goes first', () => {
  const journals = createMemoryJournals(10, 30);
  const [one, two, three] = [createSessionState('1'), createSessionState('2'), createSessionState('3')];
  journals.append(one, ['0123456789']);
  journals.append(two, ['0123456789']);
  journals.append(one, ['01234']);
  journals.append(three, ['0123456789']);
  expect([journals.read(one), journals.read(two), journals.read(three)]).toEqual([
    ['0123456789', '01234'],
    [],
    ['0123456789'],
  ]);
});

test('what is forgotten takes its journal with it', async () => {
  const clock = createManualClock();
  const settings = { ...ROOMY, journal: 5 };
  const store = createMemorySessionStore({ mode: 'memory', settings, maxSessions: 10, now: clock.now });
  const session = createBudgetSession({ store, age: none, forget: none });
  const { admission } = await session.begin(['x']);
  await admission.settle({ outcomes: [], calls: [], journal: [{ tool: 'x', json: '{"n":1}' }] });
  expect((await store.read(session.key)).journal).toEqual(['{"n":1,"retries_left":2}']);
  store.clear();
  await admission.addLate('{}');
  expect((await store.read(session.key)).journal).toEqual([]);
});
