import { DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { codesOf, createActor, createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';
import { createAsk, prefer } from './approvals-lab.ts';

const CAP = { name: 'cap', tools: 'pay', sum: '/amount', max: 10, per: 'session' };
const pay = (amount: number) => ({ name: 'pay', arguments: { amount } });

/** A service where a rule counts what a person approves: of amounts of 3 within a second. */
const startBoth = async () => {
  const actor = createActor('pay', { effects: 'write', background: 'optional' });
  const quick = { tools: 'pay', when: { properties: { amount: { const: 3 } } }, decide: 'ask', expires: '1s' };
  const approvals = { rules: [quick, { tools: 'pay', decide: 'ask', edit: true }] };
  const { service } = await startConfigLab({ rules: [CAP], approvals }, {}, [actor.tool]);
  const client = createKeyedClient(service.url);
  const session_id = freshName();
  const ask = createAsk(service.url);
  /** A call that waits for a person. */
  const wait = async (amount: number) => {
    const { request_id: requestId, results } = await prefer(service.url, { session_id, calls: [pay(amount)] });
    const { id = '', digest = '' } = results[0]?.pending.approval ?? {};
    const decide = (body: object) => ask(`/approvals/${id}`, { body, digest });
    return { requestId, decide };
  };
  const counted = async () => {
    const { rules } = await client.session(session_id);
    return rules?.map(({ used, reserved }) => ({ used, reserved }));
  };
  const codes = async (amount: number) => codesOf(await client.post({ session_id, calls: [pay(amount)] }));
  return { ...client, ask, wait, counted, codes, actor };
};

test('what a rule has reserved for a call is kept while that waits, and given back on denial, cancel and expiry', async () => {
  const { wait, counted, codes, ask, lost, actor } = await startBoth();
  const [denied, cancelled] = [await wait(4), await wait(5)];
  expect(await counted()).toEqual([{ used: '0', reserved: '9' }]);
  expect(await codes(2)).toEqual(['rule_refused']);
  await denied.decide({ decision: 'deny' });
  await expect.poll(counted, DEADLINE).toEqual([{ used: '0', reserved: '5' }]);
  await ask(`/tool-calls/${cancelled.requestId}`, { method: 'DELETE' });
  await expect.poll(counted, DEADLINE).toEqual([{ used: '0', reserved: '0' }]);
  const late = await wait(3);
  await expect.poll(async () => codesOf(await lost(late.requestId)), DEADLINE).toEqual(['approval_expired']);
  await expect.poll(counted, DEADLINE).toEqual([{ used: '0', reserved: '0' }]);
  // Who does not wait has nothing reserved until its call runs.
  expect(await codes(10)).toEqual(['approval_required']);
  expect(await counted()).toEqual([{ used: '0', reserved: '0' }]);
  expect(actor.asked).toEqual([]);
});

test('an edit has a rule reserve for what it leaves in the place of what was sent, and never beside it', async () => {
  const { wait, counted, actor, lost } = await startBoth();
  const [down, up, over] = [await wait(4), await wait(2), await wait(1)];
  expect(await counted()).toEqual([{ used: '0', reserved: '7' }]);
  const edit = (amount: number) => ({ decision: 'edit', arguments: { amount } });
  // Both would not fit.
  await down.decide(edit(7));
  await expect.poll(counted, DEADLINE).toEqual([{ used: '7', reserved: '3' }]);
  await over.decide(edit(2));
  await expect
    .poll(async () => (await lost(over.requestId)).results[0], DEADLINE)
    .toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'rule_refused', rule: 'cap' } });
  expect(await counted()).toEqual([{ used: '7', reserved: '2' }]);
  await up.decide(edit(1));
  await expect.poll(counted, DEADLINE).toEqual([{ used: '8', reserved: '0' }]);
  expect(actor.asked).toEqual([{ amount: 7 }, { amount: 1 }]);
});
