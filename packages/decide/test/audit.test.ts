import { hash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createActor, createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { defineTool, z } from 'recourse-server';
import type { Tool } from 'recourse-server/tools/tool';
import { expect, onTestFinished, test } from 'vitest';
import { createAsk, prefer } from './approvals-lab.ts';
import { ofKind, readAudit } from './audit-lab.ts';
import { createBank } from './bank.ts';

const startAudited = async (tools: readonly Tool[], settings: Readonly<Record<string, string>> = {}) => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const service = await startService({ AUDIT: `file:${path}`, ...settings }, tools);
  onTestFinished(() => service.stop());
  const client = createKeyedClient(service.url);
  /** Its lines, as soon as there are so many. */
  const lines = async (least: number) => {
    await expect.poll(() => readAudit(path).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(least);
    return readAudit(path);
  };
  return { service, path, lines, ...client };
};

const look = createActor('look');
const sha256 = (text: string): string => `sha256:${hash('sha256', text)}`;

test('a call has one line, which names who called what, with a digest in the place of its arguments', async () => {
  const secret = 'hunter2-hunter2-hunter2';
  const entry = toKeyEntry('acme', 'agent-key-0123456789abcdef', 'name=agent');
  const { lines, post, path } = await startAudited([look.tool], { API_KEYS: entry });
  const calls = [{ id: 'call_1', name: 'look', arguments: { b: secret, a: 1 } }];
  const { requestId } = await post({ session_id: 's-1', calls }, { apiKey: 'agent-key-0123456789abcdef' });
  const [line, ...more] = ofKind(await lines(1), 'call');
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    ...{ audit: 1, tenant: 'acme', key: 'agent', request_id: requestId, index: 0, call_id: 'call_1', tool: 'look' },
    ...{ effects: 'read', outcome: 'success', executed: 'yes', code: null },
    arguments_digest: sha256(`{"a":1,"b":"${secret}"}`),
    tool_digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    session: expect.stringMatching(/^acme:/),
  });
  // Of a read nobody has asked for an effect id.
  expect(line).not.toHaveProperty('effect_id');
  const text = readFileSync(path, 'utf8');
  for (const hidden of [secret, 's-1', 'agent-key']) expect(text).not.toContain(hidden);
});

test('calls that fail, are refused, are unknown, are copies or replays have their lines, in the order of the answer', async () => {
  const bank = createBank({ cut: 'after', unclear: true });
  const { lines, post } = await startAudited([look.tool, bank.pay.tool], { RECONCILE_DELAYS: '1h' });
  const key = freshName();
  const body = {
    calls: [
      { id: 'a', name: 'look', arguments: {} },
      { id: 'a', name: 'look', arguments: {} },
      { id: 'c', name: 'looks', arguments: {} },
      { id: 'd', name: 'look', arguments: '[' },
      { id: 'e', name: 'pay', arguments: { amount: 5 } },
      7,
    ],
    deadline_ms: 500,
  };
  await post(body, { key });
  const first = ofKind(await lines(6), 'call');
  expect(
    first.map(({ call_id, tool, outcome, executed, code, replayed = false }) => [
      ...[call_id, tool, outcome, executed, code, replayed],
    ]),
  ).toEqual([
    ['a', 'look', 'success', 'yes', null, false],
    ['a', 'look', 'success', 'yes', null, true],
    ['c', null, 'retry', 'no', 'unknown_tool', false],
    ['d', 'look', 'retry', 'no', 'invalid_arguments', false],
    ['e', 'pay', 'unknown', 'maybe', 'tool_exception', false],
    [null, null, 'retry', 'no', 'invalid_call', false],
  ]);
  expect(first[4]?.effect_id).toBe(bank.effectIds[0]);
  expect(first[3]?.arguments_digest).toBeNull();
  await post(body, { key });
  const again = ofKind(await lines(12), 'call').slice(6);
  expect(again.filter(({ replayed }) => replayed).length).toBeGreaterThanOrEqual(2);
});

test('texts that callers choose are shown without secrets, and no longer than they should be', async () => {
  const { lines, post, path } = await startAudited([look.tool]);
  const token = `ghp_${'a1'.repeat(18)}`;
  await post(
    {
      calls: [
        { id: `x ${token}`, name: 'look' },
        { id: 'y'.repeat(900), name: 'look' },
        { id: 7, name: 'look' },
        { id: `call_${token}`, name: 'look' },
      ],
    },
    { requestId: `r-${token}` },
  );
  const [one, other, number] = ofKind(await lines(4), 'call');
  expect(readFileSync(path, 'utf8')).not.toContain(token);
  expect(one?.call_id).toBe('x [redacted key]');
  expect(String(other?.call_id).length).toBeLessThanOrEqual(128);
  expect(number?.call_id).toBe(7);
});

test('with AUDIT_ARGUMENTS=redacted lines show arguments without what is sensitive or a secret', async () => {
  const login = defineTool({
    name: 'login',
    description: 'Logs in.',
    effects: 'read',
    input: z.object({ user: z.string(), password: z.string().meta({ sensitive: true }), note: z.string() }),
    run: () => 'ok',
  });
  const { lines, post, path } = await startAudited([login], { AUDIT_ARGUMENTS: 'redacted' });
  const token = `ghp_${'a1'.repeat(18)}`;
  await post({ calls: [{ id: 'a', name: 'login', arguments: { user: 'ann', password: 'pw-1', note: token } }] });
  const [line] = ofKind(await lines(1), 'call');
  expect(line).toMatchObject({ arguments_digest: null, arguments: expect.stringContaining('"user":"ann"') });
  for (const hidden of ['pw-1', token]) expect(readFileSync(path, 'utf8')).not.toContain(hidden);
});

test('a verdict by hand is a decision, and what it changes a verdict', async () => {
  const bank = createBank({ cut: 'after', unclear: true });
  const operator = 'operator-key-0123456789abcdef';
  const entry = toKeyEntry('acme', operator, 'name=ann may=call|read|operate');
  const { lines, post, service } = await startAudited([bank.pay.tool], { RECONCILE_DELAYS: '1h', API_KEYS: entry });
  const sent = await post(
    { deadline_ms: 300, calls: [{ name: 'pay', arguments: { amount: 5 } }] },
    { key: freshName(), apiKey: operator },
  );
  const settle = (fence: string) =>
    fetch(`${service.url}/tool-calls/${sent.requestId}/calls/0/reconcile`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'if-match': fence, authorization: `Bearer ${operator}` },
      body: JSON.stringify({ verdict: 'happened', value: 'a-secret-value', reason: 'the bank confirmed it' }),
    });
  expect((await settle('"7"')).status).toBe(409);
  expect((await settle('"1"')).status).toBe(200);
  const written = await lines(4);
  const about = { tenant: 'acme', tool: 'pay', effect_id: bank.effectIds[0], request_id: sent.requestId, index: 0 };
  expect(ofKind(written, 'decision')).toMatchObject([
    { ...about, by: 'ann', of: 'verdict', decision: 'happened', accepted: false, reason: 'the bank confirmed it' },
    { ...about, by: 'ann', of: 'verdict', decision: 'happened', accepted: true },
  ]);
  expect(ofKind(written, 'verdict')).toMatchObject([{ ...about, by: 'person', outcome: 'success', executed: 'yes' }]);
  expect(JSON.stringify(written)).not.toContain('a-secret-value');
});

test('a look that finds a write out afterwards is a verdict, and so is a handler that ends late', async () => {
  const bank = createBank({ cut: 'after', unclear: true });
  const gate = Promise.withResolvers<string>();
  const slow = createActor('slow', { effects: 'write', timeoutMs: 50 }, () => gate.promise);
  const { lines, post } = await startAudited([bank.pay.tool, slow.tool], { RECONCILE_DELAYS: '50ms' });
  await post({ deadline_ms: 300, calls: [{ name: 'pay', arguments: { amount: 5 } }] }, { key: freshName() });
  bank.unclear = false;
  await post({ calls: [{ name: 'slow', arguments: {} }] });
  gate.resolve('done');
  const written = await lines(4);
  const verdicts = ofKind(written, 'verdict').toSorted((one, other) => (one.by < other.by ? -1 : 1));
  expect(verdicts).toMatchObject([
    { by: 'run', tool: 'slow', outcome: 'success', executed: 'yes' },
    { by: 'tool', tool: 'pay', outcome: 'success', executed: 'yes', effect_id: bank.effectIds[0] },
  ]);
});

test('a pending call has a line when it is accepted, and one when it has ended', async () => {
  const job = createActor('job', { background: 'optional' }, async () => {
    await pause(20);
    return 'done';
  });
  const { lines, service } = await startAudited([job.tool]);
  await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async, wait=0' },
    body: JSON.stringify({ calls: [{ id: 'a', name: 'job', arguments: {} }] }),
  });
  const written = ofKind(await lines(2), 'call');
  expect(written).toMatchObject([
    { outcome: 'pending', code: null, pending: expect.any(String), index: 0, call_id: 'a' },
    { outcome: 'success', executed: 'yes', pending: written[0]?.pending, index: 0, call_id: 'a' },
  ]);
  expect(written).toHaveLength(2);
});

test('while lines cannot be written calls run, unless AUDIT_REQUIRED is true: then writes are refused until they can', async () => {
  const write = createActor('write', { effects: 'write' });
  const directory = makeDirectory();
  directory.write('logs/keep', '');
  const settings = { AUDIT: `file:${join(directory.root, 'logs/audit.jsonl')}` };
  const [loose, strict] = await Promise.all([
    startService(settings, [write.tool, look.tool]),
    startService({ ...settings, AUDIT_REQUIRED: 'true' }, [write.tool, look.tool]),
  ]);
  onTestFinished(async () => void (await Promise.all([loose.stop(), strict.stop()])));
  const calls = [
    { id: 'a', name: 'write', arguments: {} },
    { id: 'b', name: 'look', arguments: {} },
  ];
  rmSync(join(directory.root, 'logs'), { recursive: true });
  await Promise.all([loose.call(calls), strict.call(calls)]);
  for (const service of [loose, strict])
    await expect.poll(() => service.metric('recourse_audit_up'), { timeout: 20_000 }).toBe(0);
  expect((await loose.call(calls)).map(({ success }) => success)).toEqual([true, true]);
  const [refused, read] = await strict.call(calls);
  expect(refused).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'audit_unavailable' } });
  expect(read?.success).toBe(true);
  directory.write('logs/keep', '');
  await expect.poll(() => strict.metric('recourse_audit_up'), { timeout: 20_000 }).toBe(1);
  expect((await strict.call(calls))[0]?.success).toBe(true);
  expect(await strict.metric('recourse_audit_lost_total')).toBe(0);
});

const AGENT = 'agent-key-0123456789abcdef';
const PERSON = 'person-key-0123456789abcdef';

/** A tool that two rules count and a person approves. */
const startDecided = async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const entries = [toKeyEntry('acme', AGENT, 'name=agent'), toKeyEntry('acme', PERSON, 'name=ann may=read|approve')];
  const quick = { tools: 'pay', when: { properties: { amount: { const: 3 } } }, decide: 'ask', expires: '1s' };
  const lab = await startConfigLab(
    {
      rules: [
        { name: 'cap', tools: 'pay', sum: '/amount', max: 100, per: 'session' },
        { name: 'watch', tools: 'pay', sum: '/amount', max: 4, per: 'session', mode: 'observe' },
      ],
      approvals: { rules: [quick, { tools: 'pay', decide: 'ask', edit: true }] },
    },
    { AUDIT: `file:${path}`, API_KEYS: entries.join(',') },
    [createActor('pay', { effects: 'write', background: 'optional' }).tool],
  );
  const { url } = lab.service;
  const { post } = createKeyedClient(url);
  const session_id = freshName();
  const call = async (amount: number) => {
    const sent = await post({ session_id, calls: [{ name: 'pay', arguments: { amount } }] }, { apiKey: AGENT });
    return { requestId: sent.requestId, approval: sent.results[0]?.error?.approval };
  };
  const person = createAsk(url, PERSON);
  const decide = (approval: { id: string; digest: string } | null | undefined, body: object) =>
    person(`/approvals/${approval?.id}`, { body, digest: approval?.digest ?? '' });
  const wait = (amount: number) =>
    prefer(url, { session_id, calls: [{ name: 'pay', arguments: { amount } }] }, { apiKey: AGENT });
  return { path, call, decide, person, wait };
};

test('the line of a call names what rules and a person have said, and each step of an approval is a decision', async () => {
  const { path, call, decide, person, wait } = await startDecided();
  const asked = await call(5);
  await decide(asked.approval, { decision: 'approve', reason: 'It is due.' });
  expect((await decide(asked.approval, { decision: 'deny' })).status).toBe(409);
  await call(5);
  await call(101);
  const edited = await call(7);
  const answer = await decide(edited.approval, { decision: 'edit', arguments: { amount: 6 } });
  const digest = answer.body['digest'];
  await call(7);
  const waits = await wait(8);
  const [denied] = waits.results.map(({ pending }) => pending.approval);
  await decide(denied, { decision: 'deny', reason: 'Not now.' });
  await call(8);
  await person(`/approvals/${denied?.id}`, { method: 'DELETE' });
  const [late] = (await wait(3)).results.map(({ pending }) => pending.approval);
  const read = () => (readAudit(path).length >= 20 ? readAudit(path) : []);
  await expect.poll(() => ofKind(read(), 'call').at(-1)?.code, DEADLINE).toBe('approval_expired');

  const allowed = [
    { name: 'watch', decision: 'would_refuse' },
    { name: 'cap', decision: 'allowed' },
  ];
  const by = (approval: { id: string } | null | undefined, of: unknown, who: string | null) => ({
    approval: { id: approval?.id, digest: of, by: who },
  });
  const calls = ofKind(read(), 'call').map(({ code, rules, approval }) => ({ code, rules, approval }));
  expect(calls).toEqual([
    { code: 'approval_required', rules: allowed, ...by(asked.approval, asked.approval?.digest, null) },
    { code: null, rules: allowed, ...by(asked.approval, asked.approval?.digest, 'ann') },
    { code: 'rule_refused', rules: [{ name: 'cap', decision: 'refused' }], approval: undefined },
    { code: 'approval_required', rules: allowed, ...by(edited.approval, edited.approval?.digest, null) },
    { code: null, rules: allowed, ...by(edited.approval, digest, 'ann') },
    { code: null, rules: allowed, ...by(denied, denied?.digest, null) },
    { code: 'approval_denied', rules: allowed, ...by(denied, denied?.digest, 'ann') },
    { code: 'approval_denied', rules: allowed, ...by(denied, denied?.digest, 'ann') },
    { code: null, rules: expect.anything(), ...by(late, late?.digest, null) },
    { code: 'approval_expired', rules: expect.anything(), ...by(late, late?.digest, null) },
  ]);
  const decisions = ofKind(read(), 'decision');
  const said = decisions.map(({ decision, approval, by: who, accepted }) => [
    ...[decision, approval?.id, approval?.digest, who, accepted],
  ]);
  const stepOf = (approval: { id: string; digest: string } | null | undefined) =>
    [approval?.id, approval?.digest] as const;
  expect(said).toEqual([
    ['requested', ...stepOf(asked.approval), 'agent', true],
    ['approved', ...stepOf(asked.approval), 'ann', true],
    ['denied', ...stepOf(asked.approval), 'ann', false],
    ['requested', ...stepOf(edited.approval), 'agent', true],
    ['edited', edited.approval?.id, digest, 'ann', true],
    ['requested', ...stepOf(denied), 'agent', true],
    ['denied', ...stepOf(denied), 'ann', true],
    ['undone', ...stepOf(denied), 'ann', true],
    ['requested', ...stepOf(late), 'agent', true],
    ['expired', ...stepOf(late), null, true],
  ]);
  expect(decisions[1]).toMatchObject({ tenant: 'acme', tool: 'pay', of: 'approval', reason: 'It is due.', index: 0 });
  expect(decisions[1]?.request_id).toBe(asked.requestId);
  expect(readFileSync(path, 'utf8')).not.toMatch(/"amount"|"arguments"/);
});
