import { expect, test } from 'vitest';
import { createMemorySessionStore, createRequestSessionStore } from '#src/sessions/memory-session-store.ts';
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
