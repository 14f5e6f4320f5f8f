import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { freshName } from '@recourse/test-support/keyed-client.ts';
import { TerminalToolError } from 'recourse-server';
import { SessionView } from 'recourse-server/contract/session';
import { describe, expect, test } from 'vitest';
import { CAP, CHECK_FIRST, createTools, endsOf, openStore, refundOf, STORES, startRules, sumOf } from './rules-lab.ts';

const REFUSED = 'rule_refused refund_cap';

describe.each(STORES)('%s', (store) => {
  test('a cap lets through what fits, in the order of the batch, and says what is left', async () => {
    const { refund } = createTools();
    const { post } = await startRules([CAP], [refund], await openStore(store));
    const session = freshName();
    const answer = await post({ session_id: session, calls: [refundOf(3000), refundOf(2500), refundOf(1500)] });
    expect(endsOf(answer)).toEqual(['ok', REFUSED, 'ok']);
    expect(answer.results[1]).toMatchObject({
      ...{ outcome: 'refused', executed: 'no' },
      message: expect.stringContaining('2,000 of 5,000 are left.'),
    });
    const next = await post({ session_id: session, calls: [refundOf(500.000_001), refundOf(500)] });
    expect(endsOf(next)).toEqual([REFUSED, 'ok']);
    expect(sumOf(refund)).toBe(5000);
    expect(endsOf(await post({ session_id: freshName(), calls: [refundOf(5000)] }))).toEqual(['ok']);
  });

  test('a call under two caps is counted by both or by none, and holds up nobody', async () => {
    const { refund } = createTools();
    const count = { name: 'big', tools: 'refund', sum: 1, max: 1, when: { properties: { amount: { minimum: 100 } } } };
    const { post } = await startRules([CAP, count], [refund], await openStore(store));
    const calls = [refundOf(100), refundOf(4900), refundOf(99), refundOf(99)];
    const answer = await post({ session_id: freshName(), calls });
    expect(endsOf(answer)).toEqual(['ok', 'rule_refused big', 'ok', 'ok']);
  });

  test('what was not executed is given back before the answer, what was is spent, and what nobody knows stays reserved', async () => {
    const { refund } = createTools();
    const { post } = await startRules([CAP], [refund], await openStore(store));
    const session = freshName();
    const send = async (amount: number) => endsOf(await post({ session_id: session, calls: [refundOf(amount)] }));
    refund.act(() => {
      throw new TerminalToolError('Closed.', { executed: 'no' });
    });
    expect(await send(5000)).toEqual(['tool_failed']);
    refund.act(() => {
      throw new Error('Perhaps.');
    });
    expect(await send(3000)).toEqual(['tool_exception']);
    refund.act(() => null);
    expect([await send(2001), await send(2000)]).toEqual([[REFUSED], ['ok']]);
  });

  test('a call is let through by an earlier success with the same arguments alone', async () => {
    const { refund, check } = createTools();
    const { post } = await startRules([CHECK_FIRST], [refund, check], await openStore(store));
    const session_id = freshName();
    const fraudCheck = (order_id: number) => ({ name: 'fraud_check', arguments: { order_id } });
    const refuse = 'rule_refused fraud_check_first';
    const first = await post({ session_id, calls: [refundOf(1, { order_id: 7 }), fraudCheck(7)] });
    expect(endsOf(first)).toEqual([refuse, 'ok']);
    expect(first.results[0]?.message).toBe('Call fraud_check for this order first.');
    const second = await post({ session_id, calls: [refundOf(1, { order_id: 7 }), refundOf(1, { order_id: 8 })] });
    expect(endsOf(second)).toEqual(['ok', refuse]);
    const calls = [fraudCheck(8), refundOf(1, { order_id: 8 })];
    expect(endsOf(await post({ session_id, order: 'sequential', calls }))).toEqual(['ok', 'ok']);
    check.act(() => {
      throw new Error('No.');
    });
    const failing = [fraudCheck(9), refundOf(1, { order_id: 9 })];
    expect(endsOf(await post({ session_id, order: 'sequential', calls: failing }))).toEqual(['tool_exception', refuse]);
    expect(endsOf(await post({ session_id: freshName(), calls: [refundOf(1, { order_id: 7 })] }))).toEqual([refuse]);
    expect(refund.asked).toHaveLength(2);
  });
});

test.each([-1, 0.000_000_1, 1e21, '5', null, undefined])('an amount of %s is refused', async (amount) => {
  const { refund } = createTools();
  const { post } = await startRules([CAP], [refund]);
  expect(endsOf(await post({ session_id: freshName(), calls: [refundOf(amount)] }))).toEqual([REFUSED]);
});

test('without a session an enforced rule by session refuses, and one that observes lets pass', async () => {
  const { refund } = createTools();
  const { post, change } = await startRules([CAP], [refund]);
  const [result] = (await post([refundOf(1)])).results;
  expect(result).toMatchObject({ error: { code: 'rule_refused', rule: 'refund_cap' } });
  expect(result?.message).toContain('send a session_id');
  await change({ rules: [{ ...CAP, mode: 'observe' }] });
  expect(endsOf(await post([refundOf(9000)]))).toEqual(['ok']);
});

test('a changed max applies at once, and a renamed rule begins at 0', async () => {
  const { refund } = createTools();
  const { post, change } = await startRules([CAP], [refund]);
  const session_id = freshName();
  const send = async (amount: number) => endsOf(await post({ session_id, calls: [refundOf(amount)] }));
  expect(await send(5000)).toEqual(['ok']);
  await change({ rules: [{ ...CAP, max: 6000 }] });
  expect([await send(1001), await send(1000)]).toEqual([[REFUSED], ['ok']]);
  await change({ rules: [{ ...CAP, name: 'other' }] });
  expect(await send(5000)).toEqual(['ok']);
});

test('ending a session and resetting its budgets clear nothing that a rule has counted', async () => {
  const { refund } = createTools();
  const { post, url } = await startRules([CAP], [refund]);
  const session_id = freshName();
  await post({ session_id, calls: [refundOf(5000)] });
  await fetch(`${url}/sessions/${session_id}/budgets`, { method: 'DELETE' });
  await fetch(`${url}/sessions/${session_id}`, { method: 'DELETE' });
  expect(endsOf(await post({ session_id, calls: [refundOf(1)] }))).toEqual([REFUSED]);
});

test('a repeat under its key is counted once', async () => {
  const { refund } = createTools();
  const { post } = await startRules([CAP], [refund]);
  const session_id = freshName();
  const key = freshName();
  const body = { session_id, calls: [refundOf(2500)] };
  for (let times = 0; times < 3; times += 1) await post(body, { key });
  expect(endsOf(await post(body))).toEqual(['ok']);
  expect(refund.asked).toHaveLength(2);
});

test('a session shows its rules, and operators alone have one begin anew', async () => {
  const { refund } = createTools();
  const rules = [
    CAP,
    { name: 'of_tenant', tools: '*', sum: 1, max: 2, per: 'tenant', window: '1h' },
    { name: 'of_key', tools: 'refund', sum: 1, max: 2, per: 'key', window: '1h' },
  ];
  const [agent, operator] = ['a', 'o'].map((letter) => letter.repeat(40));
  const API_KEYS = [
    toKeyEntry('acme', agent ?? '', 'name=agent'),
    toKeyEntry('acme', operator ?? '', 'name=operator may=read|operate'),
  ].join(',');
  const { url, post } = await startRules(rules, [refund], { API_KEYS });
  const headers = (apiKey = '') => ({ headers: { authorization: `Bearer ${apiKey}` } });
  const rulesOf = async () => SessionView.parse(await (await fetch(`${url}/sessions/s`, headers(agent))).json()).rules;
  const begin = async (path: string, apiKey = operator) =>
    (await fetch(url + path, { method: 'DELETE', ...headers(apiKey) })).status;
  const send = async () => endsOf(await post({ session_id: 's', calls: [refundOf(2000)] }, { apiKey: agent ?? '' }));

  expect([await send(), await send()]).toEqual([['ok'], ['ok']]);
  expect(await rulesOf()).toEqual([{ name: 'refund_cap', used: '4000', reserved: '0', max: '5000', until: null }]);
  expect(await send()).toEqual([REFUSED]);
  expect(await begin('/sessions/s/rules/refund_cap', agent)).toBe(403);
  expect(await begin('/sessions/s/rules/refund_cap')).toBe(204);
  expect(await rulesOf()).toMatchObject([{ used: '0' }]);
  expect(await send()).toEqual(['rule_refused of_tenant']);
  expect(await begin('/rules/of_tenant')).toBe(204);
  expect(await send()).toEqual(['rule_refused of_key']);
  expect([await begin('/rules/of_key'), await begin('/rules/of_key?key=agent')]).toEqual([400, 204]);
  expect(await send()).toEqual(['ok']);
  expect([await begin('/rules/refund_cap'), await begin('/sessions/s/rules/of_key')]).toEqual([404, 404]);
});
