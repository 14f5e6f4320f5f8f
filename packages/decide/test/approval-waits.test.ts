import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder, DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { codesOf, createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { toKeyEntry as toStoreKey } from '@recourse/test-support/sealing.ts';
import { NEW_SECRET, startReceiver } from '@recourse/test-support/webhook-lab.ts';
import { defineTool, z } from 'recourse-server';
import { expect, test } from 'vitest';
import { createAsk, prefer, startApprovals } from './approvals-lab.ts';

const ASK = { rules: [{ tools: 'pay', decide: 'ask' }] };
const AGENT = 'a'.repeat(32);
const PERSON = 'b'.repeat(32);
const OTHER = 'c'.repeat(32);
const AGENT_ENTRY = toKeyEntry('acme', AGENT, 'name=agent');
const PERSON_ENTRY = toKeyEntry('acme', PERSON, 'name=person may=call|read|approve');

const createPay = () => createActor('pay', { effects: 'write', background: 'optional' });
const pay = (to: unknown) => ({ name: 'pay', arguments: { to } });

test('sealed approvals outlive their process and a rotation of the store key, and no sensitive argument is readable in the file', async () => {
  const folder = await createFolder();
  const paid: string[] = [];
  const tool = defineTool({
    ...{ name: 'pay', description: 'Pays.', effects: 'write', background: 'optional' },
    input: z.object({ to: z.string().meta({ sensitive: true }) }),
    run: ({ to }) => void paid.push(to),
  });
  const start = (ids: readonly string[]) =>
    startApprovals(ASK, [tool], {
      STORE: `sqlite:${join(folder, 'records.db')}`,
      STORE_KEYS: ids.map(toStoreKey).join(','),
    });
  const first = await start(['k1']);
  const session_id = freshName();
  const waiting = await prefer(first.url, { session_id: freshName(), calls: [pay('canary-waits')] });
  const call = { session_id, calls: [pay('canary-repeats')] };
  const asked = (await first.post(call)).results[0]?.error?.approval;
  await first.service.stop();
  for (const name of readdirSync(folder))
    expect(readFileSync(join(folder, name), 'latin1').includes('canary'), name).toBe(false);
  const second = await start(['k2', 'k1']);
  expect((await second.ask(`/approvals/${asked?.id}`)).body).toMatchObject({ state: 'waiting', tool: 'pay' });
  for (const approval of [waiting.results[0]?.pending.approval, asked])
    await second.ask(`/approvals/${approval?.id}`, { body: { decision: 'approve' }, digest: approval?.digest ?? '' });
  await second.service.stop();
  const third = await start(['k2', 'k1']);
  expect(codesOf(await third.post(call))).toEqual(['ok']);
  await expect.poll(async () => codesOf(await third.lost(waiting.request_id)), DEADLINE).toEqual(['ok']);
  expect(paid.toSorted()).toEqual(['canary-repeats', 'canary-waits']);
});

test('a call whose key is revoked while it waits does not run, whatever a person says of it', async () => {
  const file = join(await createFolder(), 'keys');
  const write = (entries: readonly string[]): void => writeFileSync(file, `${entries.join('\n')}\n`);
  write([AGENT_ENTRY, PERSON_ENTRY]);
  const actor = createPay();
  const { url, lost } = await startApprovals(ASK, [actor.tool], { API_KEYS_FILE: file });
  const { request_id: requestId, results } = await prefer(url, { calls: [pay('ann')] }, { apiKey: AGENT });
  const { id = '', digest = '' } = results[0]?.pending.approval ?? {};
  write([PERSON_ENTRY]);
  const agent = createAsk(url, AGENT);
  await expect.poll(async () => (await agent('/approvals')).status, DEADLINE).toBe(401);
  const person = createAsk(url, PERSON);
  expect((await person(`/approvals/${id}`, { body: { decision: 'approve' }, digest })).status).toBe(200);
  await expect
    .poll(async () => (await lost(requestId, { apiKey: PERSON })).results[0], DEADLINE)
    .toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'approval_stale' } });
  await expect.poll(async () => (await person(`/approvals/${id}`)).body['state'], DEADLINE).toBe('stale');
  expect(actor.asked).toEqual([]);
});

// What a tenant may have waiting, by batches of what one may hold.
const MOST = 1000;
const BATCH = 25;

test('at most 1,000 approvals of a tenant wait: more calls are refused until one is over, and other tenants wait as before', async () => {
  const API_KEYS = [PERSON_ENTRY, toKeyEntry('globex', OTHER, 'name=other')].join(',');
  const { post, url } = await startApprovals(ASK, [createPay().tool], { API_KEYS });
  const send = (calls: readonly unknown[], apiKey = PERSON) => post({ session_id: freshName(), calls }, { apiKey });
  const calls = Array.from({ length: BATCH }, (_, to) => pay(to));
  for (let waiting = 0; waiting < MOST; waiting += BATCH)
    expect(new Set(codesOf(await send(calls)))).toEqual(new Set(['approval_required']));
  const [over] = (await send([pay('ann')])).results;
  expect(over).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'call_limit_exceeded' } });
  expect((await prefer(url, { calls: [pay('bob')] }, { apiKey: OTHER })).results).toHaveLength(1);
  const person = createAsk(url, PERSON);
  const { body } = await person('/approvals?limit=1');
  expect(body['total']).toBe(MOST);
  const [{ id }] = Object(body['approvals']);
  await person(`/approvals/${id}`, { method: 'DELETE' });
  expect(codesOf(await send([pay('ann')]))).toEqual(['approval_required']);
});

test('an endpoint that a batch has named is told once of each approval that it waits for, without arguments', async () => {
  const receiver = await startReceiver();
  const ops = {
    ...{ url: receiver.url, secret: NEW_SECRET, privateAddresses: 'allow' },
    events: ['tool_call.approval_requested'],
  };
  const { service } = await startConfigLab({ approvals: ASK, webhooks: { ops } }, {}, [createPay().tool]);
  const body = { notify: 'ops', calls: [{ id: 'call_1', ...pay('secret-name') }] };
  const key = freshName();
  const first = await prefer(service.url, body, { key });
  await prefer(service.url, body, { key });
  const [{ call, approval } = { call: '', approval: null }] = first.results.map(({ pending }) => pending);
  await expect.poll(() => receiver.received.length, DEADLINE).toBe(1);
  const [message] = receiver.received.map((received) => JSON.parse(received.body));
  expect(message).toMatchObject({
    type: 'tool_call.approval_requested',
    data: { tool: 'pay', index: 0, request_id: first.request_id, call, call_id: 'call_1', approval: approval?.id },
  });
  await expect.poll(() => service.metric('recourse_webhooks_waiting{endpoint="ops"}'), DEADLINE).toBe(0);
  expect(receiver.received.map(({ body: text }) => text).join('\n')).not.toMatch(/secret-name|arguments/);
  expect(receiver.received).toHaveLength(1);
});
