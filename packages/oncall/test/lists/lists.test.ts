import { expect, test } from 'vitest';
import { failing, hashOfSession, startLists, working } from './lists-lab.ts';

test('a session is failing, then blocked, then fresh again after a reset, and its failures are listed newest first', async () => {
  const { ask, items, post } = await startLists();
  await post('run-1', [failing(1)]);
  await post('run-2', [working(1)]);
  const session = hashOfSession('run-1');
  expect(await items('/sessions?state=failing')).toMatchObject([
    {
      session,
      id: null,
      state: 'failing',
      blocked_tools: [],
      calls: 1,
      failures: 1,
      last_failure: { tool: 'lookup', code: 'tool_exception' },
    },
  ]);
  expect(await items('/sessions')).toMatchObject([
    { session: hashOfSession('run-2'), state: 'ok', failures: 0 },
    { session },
  ]);
  await post('run-1', [failing(2)]);
  await post('run-1', [failing(3)]);
  expect(await items('/sessions?state=blocked')).toMatchObject([
    { session, blocked_tools: ['lookup'], calls: 3, failures: 3 },
  ]);
  expect(await items('/sessions?state=failing')).toEqual([]);
  const calls = await items('/calls');
  expect(calls.map(({ code }) => code)).toEqual(['retry_budget_exhausted', 'tool_exception', 'tool_exception']);
  expect(calls[1]).toMatchObject({
    session,
    tool: 'lookup',
    name: 'lookup',
    fault: 'tool',
    executed: 'yes',
    key: null,
  });
  expect((await ask(`/calls/${String(calls[0]?.['reference'])}`)).body).toEqual(calls[0]);
  expect((await ask(`/sessions/~${session.slice(0, 8)}/budgets/lookup`, 'DELETE')).status).toBe(204);
  expect(await items('/sessions?state=blocked')).toEqual([]);
  expect((await ask(`/sessions/~${session.slice(0, 12)}`)).body).toMatchObject({ session: { rounds: 3 } });
  await post('run-1', [working(4)]);
  expect(await items('/sessions?state=recent&limit=1')).toMatchObject([
    { session, state: 'ok', calls: 4, failures: 3 },
  ]);
  expect((await ask(`/sessions/~${session}`, 'DELETE')).status).toBe(204);
  expect(await items('/sessions')).toMatchObject([{ session: hashOfSession('run-2') }]);
});
