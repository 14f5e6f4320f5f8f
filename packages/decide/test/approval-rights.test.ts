import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder, DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';
import { createAsk, startApprovals } from './approvals-lab.ts';

const AGENT = 'a'.repeat(32);
const PERSON = 'b'.repeat(32);
const STRANGER = 'c'.repeat(32);
const KEYS = [
  toKeyEntry('acme', AGENT, 'name=agent'),
  toKeyEntry('acme', PERSON, 'name=person may=read|approve'),
  toKeyEntry('globex', STRANGER, 'name=stranger may=call|read|reset|operate|approve'),
];
const pay = (amount: number) => ({ name: 'pay', arguments: { amount } });

const startWithKeys = async (approvals: unknown) => {
  const actor = createActor('pay', { effects: 'write' });
  const lab = await startApprovals(approvals, [actor.tool], { API_KEYS: KEYS.join(',') });
  const call = async (session_id: string, apiKey = AGENT) =>
    (await lab.post({ session_id, calls: [pay(5)] }, { apiKey })).results[0];
  const [agent, person, stranger] = [AGENT, PERSON, STRANGER].map((key) => createAsk(lab.url, key));
  if (agent === undefined || person === undefined || stranger === undefined) throw new Error('Three keys ask.');
  return { ...lab, actor, call, agent, person, stranger };
};

test('the key of an agent approves nothing, another tenant sees nothing, and a person with the right decides', async () => {
  const { call, agent, person, stranger, actor } = await startWithKeys({ default: { write: 'ask' } });
  const session = freshName();
  const { id = '', digest = '' } = (await call(session))?.error?.approval ?? {};
  const approve = { body: { decision: 'approve' }, digest };
  expect(await agent(`/approvals/${id}`, approve)).toMatchObject({
    status: 403,
    body: { code: 'operation_not_allowed' },
  });
  expect(await agent(`/approvals/${id}`, { method: 'DELETE' })).toMatchObject({ status: 403 });
  expect(await stranger('/approvals')).toMatchObject({ status: 200, body: { approvals: [], total: 0 } });
  expect(await stranger(`/approvals/${id}`)).toMatchObject({ status: 404 });
  expect(await stranger(`/approvals/${id}`, approve)).toMatchObject({ status: 404 });
  expect((await person('/approvals')).body).toMatchObject({ total: 1, approvals: [{ id, key: 'agent' }] });
  expect(await person(`/approvals/${id}`, approve)).toMatchObject({ status: 200, body: { decided_by: 'person' } });
  expect((await call(session, STRANGER))?.error?.code).toBe('approval_required');
  expect(await call(session)).toMatchObject({ success: true });
  expect(actor.asked).toEqual([{ amount: 5 }]);
});

test('by: requester lets the key that called decide, and four_eyes never does', async () => {
  const rule = { tools: 'pay', decide: 'ask', by: ['requester', 'operator'] };
  const own = await startWithKeys({ rules: [rule] });
  const first = (await own.call(freshName()))?.error?.approval;
  const approve = { body: { decision: 'approve' }, digest: first?.digest ?? '' };
  expect(await own.agent(`/approvals/${first?.id}`, approve)).toMatchObject({ status: 200 });

  const strict = await startWithKeys({ rules: [{ ...rule, four_eyes: true }] });
  const second = (await strict.call(freshName()))?.error?.approval;
  const decide = { body: { decision: 'approve' }, digest: second?.digest ?? '' };
  expect(await strict.agent(`/approvals/${second?.id}`, decide)).toMatchObject({ status: 403 });
  expect(await strict.person(`/approvals/${second?.id}`, decide)).toMatchObject({ status: 200 });
});

test('without keys a rule with four_eyes is refused at the start, and others are warned of', async () => {
  const rule = { tools: 'pay', decide: 'ask' };
  await expect(startConfigLab({ approvals: { rules: [{ ...rule, four_eyes: true }] } })).rejects.toThrow('four_eyes');
  const { linesOf } = await startConfigLab({ approvals: { rules: [rule] } });
  expect(
    linesOf('callers have no keys: every one of them may approve what the section approvals asks for'),
  ).toHaveLength(1);
});

test('sensitive arguments are hidden, and an edit that sends them back as they were shown keeps them', async () => {
  const folder = join(await createFolder(), 'tools');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'pay.ts'),
    `import { defineTool, z } from 'recourse-server';
     export default defineTool({
       name: 'pay', description: 'Pays.', effects: 'write',
       input: z.object({ amount: z.number(), card: z.string().meta({ sensitive: true }) }), run: (input) => ({ ...input, card: input.card.length }),
     });`,
  );
  const approvals = { rules: [{ tools: 'pay', decide: 'ask', edit: true, summary: 'Pay {/amount} by {/card}' }] };
  const { post, ask } = await startApprovals(approvals, [], { TOOLS_DIR: folder });
  const session_id = freshName();
  const call = async () =>
    (await post({ session_id, calls: [{ name: 'pay', arguments: { amount: 5, card: '4111' } }] })).results[0];
  const { id = '', digest = '', summary } = (await call())?.error?.approval ?? {};
  expect(summary).not.toContain('4111');
  const { body } = await ask(`/approvals/${id}`);
  expect(JSON.stringify(body)).not.toContain('4111');
  const shown = Object(body['arguments']);
  expect(
    await ask(`/approvals/${id}`, { body: { decision: 'edit', arguments: { ...shown, amount: 4 } }, digest }),
  ).toMatchObject({ status: 200 });
  const result = await call();
  expect(result).toMatchObject({ success: true, value: { amount: 4, card: 4 } });
  expect(JSON.stringify(result)).not.toContain('4111');
});

test('a tool of the tools directory that changed after the approval asks again', async () => {
  const folder = join(await createFolder(), 'tools');
  mkdirSync(folder);
  const file = join(folder, 'pay.ts');
  const source = (text: string): string =>
    `import { defineTool, z } from 'recourse-server';
     export default defineTool({
       name: 'pay', description: 'Pays.', effects: 'write', input: z.object({ amount: z.number() }), run: () => '${text}',
       approval: ({ amount }) => (amount > 1 ? 'ask' : 'allow'),
     });`;
  writeFileSync(file, source('one'));
  const { post, ask, linesOf } = await startApprovals({}, [], { TOOLS_DIR: folder });
  const session_id = freshName();
  const call = async () => (await post({ session_id, calls: [pay(5)] })).results[0];
  const callSmall = async () => (await post([pay(1)])).results[0];
  expect(await callSmall()).toMatchObject({ success: true, value: 'one' });
  const { id = '', digest = '' } = (await call())?.error?.approval ?? {};
  await ask(`/approvals/${id}`, { body: { decision: 'approve' }, digest });
  writeFileSync(file, source('two'));
  await expect.poll(async () => (await callSmall())?.value, DEADLINE).toBe('two');
  const again = await call();
  expect(again?.error).toMatchObject({ code: 'approval_required' });
  expect(again?.error?.approval?.digest).not.toBe(digest);
  expect(linesOf('step on an approval failed')).toEqual([]);
  expect(readFileSync(file, 'utf8')).toContain('two');
});
