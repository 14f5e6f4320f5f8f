import { hash } from 'node:crypto';
import { startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createActor, createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { runInProcess } from '@recourse/test-support/run-in-process.ts';
import { expect, test } from 'vitest';

const AGENT = 'agent-key-0123456789abcdef';
const OPERATOR = 'operator-key-0123456789abcdef';
const KEYS = {
  API_KEYS: [
    `acme=${hash('sha256', AGENT)} name=agent`,
    `acme=${hash('sha256', OPERATOR)} name=ops may=read|approve`,
  ].join(','),
};
const RULE = { tools: 'pay', decide: 'ask', summary: 'Pay {/amount} to {/to}' };

/** A service that asks a person before `pay` runs, and the command with a key. */
const start = async () => {
  const bank = createActor('pay', { effects: 'write' });
  const { service } = await startConfigLab({ approvals: { rules: [RULE] } }, KEYS, [bank.tool]);
  const { post } = createKeyedClient(service.url);
  const session_id = freshName();
  const pay = async (to: string) => {
    const calls = [{ name: 'pay', arguments: { amount: 5, to } }];
    return (await post({ session_id, calls }, { apiKey: AGENT })).results[0];
  };
  const asOperator = { RECOURSE_URL: service.url, RECOURSE_API_KEY: OPERATOR };
  return {
    paid: bank.asked,
    pay,
    ask: async (to: string) => (await pay(to))?.error?.approval ?? { id: '', digest: '' },
    run: (words: readonly string[], answer: string | null = null, variables = {}) =>
      runInProcess(['approvals', ...words], { ...asOperator, ...variables }, '', answer),
  };
};

test('what waits is listed, and one is shown with the arguments that would run', async () => {
  const { ask, run } = await start();
  expect(await run([])).toEqual({ end: 0, stdout: 'No call waits for an approval.\n', stderr: '' });
  const { id, digest } = await ask('ann\u001b[2J\u202e');
  const { stdout } = await run([]);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^id {24}tool {2}key {6}left {2}summary$/),
    expect.stringMatching(/^─+$/),
    expect.stringMatching(new RegExp(`^${id} {2}pay {3}agent {2}(30|29) min {2}Pay 5 to ann$`)),
    '',
  ]);
  const listed = JSON.parse((await run(['--json'])).stdout);
  expect(listed).toMatchObject({ total: 1, approvals: [{ id, digest, arguments: { amount: 5 } }] });
  const shown = await run(['show', id]);
  expect(shown).toMatchObject({ end: 0, stderr: '' });
  expect(shown.stdout.split('\n')).toEqual([
    'pay: waiting',
    '  summary   Pay 5 to ann',
    '  arguments {',
    '              "amount": 5,',
    '              "to": "ann\\u001b[2J\\u202e"',
    '            }',
    '  key       agent',
    expect.stringMatching(/^ {2}session {3}[0-9a-f]{64}$/),
    expect.stringMatching(/^ {2}asked {5}\d{4}-.*Z$/),
    expect.stringMatching(/^ {2}until {5}\d{4}-.*Z \((30|29) min\)$/),
    `  digest    ${digest}`,
    '',
  ]);
});

test('who approves is shown what would run and asked; then the call runs once', async () => {
  const { ask, pay, paid, run } = await start();
  const { id } = await ask('ann');
  const refused = await run(['approve', id], '');
  expect(refused).toMatchObject({ end: 1, stdout: '' });
  expect(refused.stderr).toMatch(
    /^pay: waiting\n.*"to": "ann".*Approve this call\? \[y\/N\] Nothing was decided\.\n$/s,
  );
  const approved = await run(['approve', id, '--reason', 'known'], 'y');
  expect(approved).toMatchObject({ end: 0, stderr: expect.stringContaining('Approve this call? [y/N] ') });
  expect(approved.stdout).toMatch(/^pay: granted \(approve by ops\)\n.* reason {4}known\n/s);
  expect(paid).toEqual([]);
  expect(await pay('ann')).toMatchObject({ success: true });
  expect(paid).toEqual([{ amount: 5, to: 'ann' }]);
  const late = await run(['deny', id], 'y');
  expect(late).toMatchObject({ end: 1, stdout: '' });
  expect(late.stderr).toMatch(/^pay: used \(approve by ops\)\n.*It cannot be decided any more\.\n$/s);
});

test('a script decides by the digest that it has read, and by no other', async () => {
  const { ask, pay, paid, run } = await start();
  const { id, digest } = await ask('ann');
  const other = `sha256:${'0'.repeat(64)}`;
  expect(await run(['deny', id, '--digest', other])).toEqual({
    end: 1,
    stdout: '',
    stderr: 'HTTP 412: The approval is for another digest. Read it again, then decide.\n',
  });
  const denied = await run(['deny', id, '--digest', digest, '--reason', 'Too much', '--json']);
  expect(denied).toMatchObject({ end: 0, stderr: '' });
  expect(JSON.parse(denied.stdout)).toMatchObject({ id, state: 'denied', decided_by: 'ops', reason: 'Too much' });
  const result = await pay('ann');
  expect(result?.error?.code).toBe('approval_denied');
  expect(result?.message).toContain('Too much.');
  const late = await run(['approve', id, '--digest', digest]);
  expect(late).toMatchObject({ end: 1, stdout: '' });
  expect(late.stderr).toMatch(/^HTTP 409: 'ops' has decided deny at .*; the approval is denied\.\n$/);
  expect(paid).toEqual([]);
});

test('a key without the operation approve is told which one is missing', async () => {
  const { ask, run } = await start();
  const { id, digest } = await ask('ann');
  const refused = await run(['approve', id, '--digest', digest], null, { RECOURSE_API_KEY: AGENT });
  expect(refused).toMatchObject({ end: 1, stdout: '' });
  expect(refused.stderr).toContain('it needs the operation approve, which is never implied');
});

const ID = `a_${'x'.repeat(22)}`;

test.for([
  ['another action', ['accept', ID], "'accept' is not show, approve or deny."],
  ['no id', ['approve'], 'Write the id of an approval behind approve: a_ and 22 characters.'],
  ['an id that is none', ['show', '../tools'], 'Write the id of an approval behind show: a_ and 22 characters.'],
  ['a reason to look', ['show', ID, '--reason', 'x'], '--reason and --digest are for approve and deny.'],
  [
    'half a digest',
    ['approve', ID, '--digest', 'sha256:1'],
    '--digest must be sha256: and 64 hex digits, as show prints it.',
  ],
  ['nobody to ask', ['deny', ID], 'Without a terminal deny needs --digest, as recourse approvals show prints it.'],
] as const)('%s is said to be wrong', async ([, words, problem]) => {
  expect(await runInProcess(['approvals', ...words])).toEqual({
    end: 2,
    stdout: '',
    stderr: `recourse: ${problem}\nRun recourse approvals --help for its arguments and options.\n`,
  });
});
