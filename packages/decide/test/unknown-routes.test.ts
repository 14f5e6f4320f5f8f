import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createKeyedClient, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createBank } from './bank.ts';

type Asked = {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag: string | null;
};

const createAsk =
  (url: string, apiKey?: string) =>
  async (
    path: string,
    init: { readonly body?: unknown; readonly fence?: number; readonly method?: string } = {},
  ): Promise<Asked> => {
    const { body, fence, method = 'POST' } = init;
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(fence === undefined ? {} : { 'if-match': `"${fence}"` }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: JSON.parse(await answer.text()), etag: answer.headers.get('etag') };
  };

const QUIET = { RECONCILE_DELAYS: '1h' };
const PAY = { deadline_ms: 300, calls: [{ name: 'pay', arguments: { amount: 5 } }] };

/** A service with one payment whose outcome is unknown. */
const startUnknown = async (cut: 'before' | 'after' = 'after') => {
  const bank = createBank({ cut, unclear: true });
  const lab = await startLab([bank.pay], QUIET);
  const key = freshName();
  const { requestId, results } = await lab.post(PAY, { key });
  expect(results[0]).toMatchObject({ outcome: 'unknown' });
  const ask = createAsk(lab.service.url);
  const path = `/tool-calls/${requestId}/calls/0/reconcile`;
  const list = async () => (await ask('/calls/unknown', { method: 'GET' })).body['calls'];
  return { ...lab, bank, key, requestId, ask, path, list };
};

test('unknown outcomes are listed until they are known, and a look now finds them out', async () => {
  const { bank, requestId, ask, path, list, lost } = await startUnknown();
  expect(await list()).toMatchObject([
    {
      request_id: requestId,
      index: 0,
      tool: 'pay',
      effect_id: bank.effectIds[0],
      arguments: '{"amount":5}',
      state: 'open',
      code: 'tool_exception',
      attempts: 1,
      run_may_act_until: null,
      fence: 1,
    },
  ]);
  expect(await ask(path)).toMatchObject({ status: 200, body: { state: 'open', attempts: 2 }, etag: '"1"' });
  bank.unclear = false;
  expect(await ask(path)).toMatchObject({ status: 200, body: { state: 'settled', verdict: 'happened', by: 'tool' } });
  expect((await lost(requestId)).results[0]).toMatchObject({ success: true, value: { amount: 5 } });
  expect(await list()).toEqual([]);
  expect(await ask(path)).toMatchObject({ status: 409, body: { code: 'outcome_settled' } });
});

test('a person settles a write by hand, under the fence that was read', async () => {
  const { bank, requestId, ask, path, post, key, lost } = await startUnknown();
  const verdict = {
    verdict: 'happened',
    value: { amount: 5, receipt: 'r-1' },
    reason: 'the bank confirmed it by phone',
  };
  expect(await ask(path, { body: verdict })).toMatchObject({ status: 428, body: { code: 'fence_required' } });
  expect(await ask(path, { body: { verdict: 'yes' }, fence: 1 })).toMatchObject({ body: { code: 'invalid_verdict' } });
  expect(await ask(path, { body: verdict, fence: 7 })).toMatchObject({ status: 409, body: { code: 'fence_passed' } });
  expect(await ask(path, { body: verdict, fence: 1 })).toMatchObject({
    status: 200,
    body: { state: 'settled', verdict: 'happened', by: 'person', fence: 2 },
    etag: '"2"',
  });
  const told = { success: true, executed: 'yes', value: verdict.value, reconciled: { by: 'person' } };
  expect((await lost(requestId)).results[0]).toMatchObject(told);
  expect((await post(PAY, { key })).results[0]).toMatchObject({ ...told, replayed: true });
  expect(bank.payments).toHaveLength(1);
});

test('by the word of a person that it did not happen the same key runs it again, and the request id tells why', async () => {
  const { bank, requestId, ask, path, post, key, lost } = await startUnknown('before');
  const verdict = { verdict: 'did_not_happen', reason: 'the bank has no such payment' };
  expect(await ask(path, { body: verdict, fence: 1 })).toMatchObject({ body: { verdict: 'did_not_happen' } });
  expect((await lost(requestId)).results[0]).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    reconciled: { by: 'person' },
  });
  bank.cut = 'never';
  expect((await post(PAY, { key })).results[0]).toMatchObject({ success: true, value: { amount: 5 } });
  expect(bank.payments).toHaveLength(1);
  expect(new Set(bank.effectIds).size).toBe(1);
});

test('only who may operate settles by hand, of its own tenant; who may call looks', async () => {
  const [agent, operator, stranger] = ['agent', 'operator', 'stranger'].map((name) => `${name}-key-0123456789abcdef`);
  const bank = createBank({ cut: 'after', unclear: true });
  const entries = [
    toKeyEntry('acme', agent ?? '', 'name=agent'),
    toKeyEntry('acme', operator ?? '', 'name=ann may=call|read|operate'),
    toKeyEntry('other', stranger ?? '', 'may=call|read|operate'),
  ];
  const service = await startService({ ...QUIET, API_KEYS: entries.join(',') }, [bank.pay.tool]);
  onTestFinished(() => service.stop());
  const { requestId } = await createKeyedClient(service.url).post(PAY, {
    key: freshName(),
    ...(agent && { apiKey: agent }),
  });
  const path = `/tool-calls/${requestId}/calls/0/reconcile`;
  const body = { verdict: 'happened', value: 1, reason: 'seen' };
  const [asAgent, asOperator, asStranger] = [agent, operator, stranger].map((key) => createAsk(service.url, key));
  expect(await asAgent?.(path)).toMatchObject({ status: 200, body: { state: 'open' } });
  expect(await asAgent?.(path, { body, fence: 1 })).toMatchObject({
    status: 403,
    body: { code: 'operation_not_allowed' },
  });
  expect(await asStranger?.(path, { body, fence: 1 })).toMatchObject({ status: 404 });
  expect((await asStranger?.('/calls/unknown', { method: 'GET' }))?.body).toEqual({ calls: [], total: 0 });
  expect(await asOperator?.(path, { body, fence: 1 })).toMatchObject({ status: 200, body: { by: 'person' } });
});

test('metrics tell how many outcomes are unknown, since when, and what looks have come to', async () => {
  const bank = createBank({ cut: 'after', unclear: true });
  const { post, service } = await startLab([bank.pay], { RECONCILE_DELAYS: '50ms' });
  await post(PAY, { key: freshName() });
  await expect.poll(() => service.metric('recourse_unknown_outcomes{tool="pay"}'), { timeout: 20_000 }).toBe(1);
  expect(await service.metric('recourse_unknown_outcome_oldest_seconds')).toBeGreaterThan(0);
  bank.unclear = false;
  await expect.poll(() => service.metric('recourse_reconciles_total{tool="pay",verdict="happened"}')).toBe(1);
  await expect.poll(() => service.metric('recourse_unknown_outcomes{tool="pay"}'), { timeout: 20_000 }).toBe(0);
  expect(await service.metric('recourse_unknown_outcome_oldest_seconds')).toBe(0);
});
