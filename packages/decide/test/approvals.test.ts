import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { codesOf, createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { defineTool, type ToolDefinition } from 'recourse-server/tools/define-tool';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { prefer, startApprovals } from './approvals-lab.ts';

const ASK = { rules: [{ tools: 'pay', decide: 'ask', summary: 'Pay {/amount}' }] };
const pay = (amount: number) => ({ name: 'pay', arguments: { amount } });
const DIGEST = /^sha256:[0-9a-f]{64}$/;

test('a call that a person has to approve is refused until then, and runs once after that', async () => {
  const actor = createActor('pay', { effects: 'write' });
  const { post, ask } = await startApprovals(ASK, [actor.tool]);
  const session_id = freshName();
  const first = await post({ session_id, calls: [pay(5)] });
  const error = first.results[0]?.error;
  expect(first.results[0]).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'approval_required' } });
  expect(error?.approval).toEqual({
    id: expect.stringMatching(/^a_[\w-]{22}$/),
    digest: expect.stringMatching(DIGEST),
    summary: 'Pay 5',
    expires_at: expect.any(String),
    url: null,
  });
  const { id = '', digest = '' } = error?.approval ?? {};
  // A repeat makes no second one, and another call has its own.
  const again = await post({ session_id, calls: [pay(5), pay(6)] });
  expect(again.results[0]?.error?.approval).toEqual(error?.approval);
  expect(again.results[1]?.error?.approval?.id).not.toBe(id);
  const listed = await ask('/approvals');
  expect(listed.body).toMatchObject({
    total: 2,
    approvals: [{ id, digest, state: 'waiting', arguments: { amount: 5 } }, {}],
  });

  expect(await ask(`/approvals/${id}`, { body: { decision: 'approve' } })).toMatchObject({ status: 428 });
  const wrong = `sha256:${'0'.repeat(64)}`;
  expect(await ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest: wrong })).toMatchObject({
    status: 412,
  });
  expect(await ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest })).toMatchObject({
    status: 200,
    body: { state: 'granted', decision: 'approve' },
  });
  expect(await ask(`/approvals/${id}`, { body: { decision: 'deny' }, digest })).toMatchObject({
    status: 409,
    body: { code: 'approval_decided', detail: expect.stringContaining('has decided approve') },
  });
  expect(actor.asked).toEqual([]);

  const parallel = await Promise.all([1, 2, 3].map(() => post({ session_id, calls: [pay(5)] })));
  const outcomes = parallel.map(({ results }) => results[0]?.error?.code ?? 'ok').toSorted();
  expect(outcomes).toEqual(['approval_required', 'approval_required', 'ok']);
  expect(actor.asked).toEqual([{ amount: 5 }]);
  expect(await ask(`/approvals/${id}`)).toMatchObject({ body: { state: 'used' } });
});

test('a denial holds for the same call of the session alone, and is undone', async () => {
  const actor = createActor('pay', { effects: 'write' });
  const { post, ask } = await startApprovals(ASK, [actor.tool]);
  const session_id = freshName();
  const call = async (session = session_id) => (await post({ session_id: session, calls: [pay(5)] })).results[0];
  const { id = '', digest = '' } = (await call())?.error?.approval ?? {};
  await ask(`/approvals/${id}`, { body: { decision: 'deny', reason: 'Too much' }, digest });
  const denied = await call();
  expect(denied).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'approval_denied' } });
  expect(denied?.message).toContain('Too much.');
  expect((await call(freshName()))?.error?.code).toBe('approval_required');
  expect(await ask(`/approvals/${id}`, { method: 'DELETE' })).toMatchObject({
    status: 200,
    body: { state: 'cancelled' },
  });
  const anew = await call();
  expect(anew?.error).toMatchObject({ code: 'approval_required' });
  expect(anew?.error?.approval?.id).not.toBe(id);
  expect(actor.asked).toEqual([]);
});

test.each(['never', 'optional', 'always'] as const)(
  'a call of a tool with background %s waits, and runs once it is approved',
  async (background) => {
    const actor = createActor('pay', { effects: 'write', background });
    const { ask, url, lost } = await startApprovals(ASK, [actor.tool]);
    const { request_id: requestId, results } = await prefer(url, { session_id: freshName(), calls: [pay(5)] });
    expect(results[0]).toMatchObject({
      outcome: 'pending',
      executed: 'no',
      pending: { state: 'waiting_for_approval' },
    });
    const { id = '', digest = '' } = results[0]?.pending.approval ?? {};
    expect(await ask(`/approvals/${id}`)).toMatchObject({ body: { state: 'waiting', call: results[0]?.pending.call } });
    await ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest });
    await expect.poll(async () => (await lost(requestId)).results[0]?.outcome, DEADLINE).toBe('success');
    expect(actor.asked).toEqual([{ amount: 5 }]);
    expect(await ask(`/approvals/${id}`)).toMatchObject({ body: { state: 'used' } });
  },
);

test('a call that waits ends when it is denied, withdrawn or nobody decides in time', async () => {
  const actor = createActor('pay', { effects: 'write', background: 'optional' });
  const rules = [
    { tools: 'pay', when: { properties: { amount: { const: 3 } } }, decide: 'ask', expires: '1s' },
    { tools: 'pay', decide: 'ask' },
  ];
  const { ask, url, lost, post } = await startApprovals({ rules }, [actor.tool]);
  const session_id = freshName();
  const { request_id: requestId, results } = await prefer(url, { session_id, calls: [pay(1), pay(2), pay(3)] });
  const [denied, withdrawn] = results.map(({ pending }) => pending.approval);
  await ask(`/approvals/${denied?.id}`, { body: { decision: 'deny', reason: 'No' }, digest: denied?.digest ?? '' });
  await ask(`/approvals/${withdrawn?.id}`, { method: 'DELETE' });
  await expect
    .poll(async () => (await lost(requestId)).results.map(({ error }) => error?.code), DEADLINE)
    .toEqual(['approval_denied', 'approval_denied', 'approval_expired']);
  expect((await post({ session_id, calls: [pay(1)] })).results[0]?.error?.code).toBe('approval_denied');
  expect(actor.asked).toEqual([]);
});

test('an edit runs in the place of what was sent, once it is valid, and the model is told', async () => {
  const amounts = z.object({ amount: z.number().max(100), note: z.string().default('none') });
  const ran: unknown[] = [];
  const tool = defineTool({
    ...{ name: 'pay', description: 'Pays.', effects: 'write', background: 'optional', input: amounts },
    run: (input) => {
      ran.push(input);
      return input;
    },
  });
  const rules = [{ tools: 'pay', decide: 'ask', edit: true }];
  const { post, ask, url, lost } = await startApprovals({ rules }, [tool]);
  const session_id = freshName();
  const call = async () => (await post({ session_id, calls: [pay(5)] })).results[0];
  const { id = '', digest = '' } = (await call())?.error?.approval ?? {};
  const edit = (amount: number) => ({ body: { decision: 'edit', arguments: { amount } }, digest });
  expect(await ask(`/approvals/${id}`, edit(101))).toMatchObject({ status: 400, body: { code: 'invalid_arguments' } });
  const edited = await ask(`/approvals/${id}`, edit(4));
  expect(edited).toMatchObject({
    status: 200,
    body: { arguments: { amount: 5, note: 'none' }, edited_arguments: { amount: 4, note: 'none' } },
  });
  expect(edited.body['digest']).not.toBe(digest);
  const result = await call();
  expect(result).toMatchObject({
    success: true,
    value: { amount: 4, note: 'none' },
    arguments_edited: { amount: 4, note: 'none' },
  });
  expect(result?.message).toContain('changed the arguments');

  const { request_id: requestId, results } = await prefer(url, { session_id, calls: [pay(6)] });
  const { approval } = results[0]?.pending ?? {};
  await ask(`/approvals/${approval?.id}`, { ...edit(3), digest: approval?.digest ?? '' });
  await expect
    .poll(async () => (await lost(requestId)).results[0], DEADLINE)
    .toMatchObject({ success: true, arguments_edited: { amount: 3, note: 'none' } });
  expect(ran).toEqual([
    { amount: 4, note: 'none' },
    { amount: 3, note: 'none' },
  ]);
});

test('the word of the tool counts where it is the stricter one, and asks where it fails', async () => {
  const create = (name: string, approval: ToolDefinition<z.ZodType>['approval']) =>
    createActor(name, { effects: 'write', ...(approval && { approval }) }).tool;
  const { post } = await startApprovals({ rules: [{ tools: 'strict', decide: 'deny' }] }, [
    create('mild', (input) => (Object(input).amount > 1 ? 'ask' : 'allow')),
    create('broken', () => {
      throw new Error('no');
    }),
    create('strict', () => 'allow'),
  ]);
  const calls = [
    ['mild', 1],
    ['mild', 2],
    ['broken', 1],
    ['strict', 1],
  ].map(([name, amount]) => ({ name, arguments: { amount } }));
  expect(codesOf(await post({ session_id: freshName(), calls }))).toEqual([
    'ok',
    'approval_required',
    'approval_required',
    'approval_denied',
  ]);
});

test('a pending call that is cancelled takes its approval with it', async () => {
  const actor = createActor('pay', { effects: 'write' });
  const { ask, url, lost } = await startApprovals(ASK, [actor.tool]);
  const { request_id: requestId, results } = await prefer(url, { session_id: freshName(), calls: [pay(5)] });
  const { id = '', digest = '' } = results[0]?.pending.approval ?? {};
  await ask(`/tool-calls/${requestId}`, { method: 'DELETE' });
  await expect.poll(async () => (await lost(requestId)).results[0]?.error?.code, DEADLINE).toBe('cancelled');
  await expect.poll(async () => (await ask(`/approvals/${id}`)).body['state'], DEADLINE).toBe('cancelled');
  expect(await ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest })).toMatchObject({ status: 409 });
  expect((await ask('/approvals')).body).toEqual({ approvals: [], total: 0 });
  expect(actor.asked).toEqual([]);
});
