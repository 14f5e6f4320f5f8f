import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment, ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

/** The commands of the section of README.md, in the order in which they are pasted. */
const readCommands = (): readonly string[] => {
  const page = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, section = ''] = page.split('## Before a write\n');
  return [...(section.split(/^## /m)[0] ?? '').matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
};

const Answer = z.object({
  results: z.tuple([z.looseObject({ outcome: z.string(), message: z.string(), error: z.looseObject({}).nullable() })]),
});
const Waiting = z.object({ approvals: z.tuple([z.looseObject({ id: z.string(), digest: z.string() })]) });

test('the commands of README.md are refused by a rule, tried dry, wait for a person, run once, and meet the limit', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-refunds-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [start = '', first = '', then = '', ...others] = readCommands();
  expect(others).toEqual([]);
  const [, tools = '', file = ''] = /^TOOLS_DIR=(\S+) CONFIG_FILE=(\S+) npm start\n$/.exec(start) ?? [];
  // A ledger of its own.
  const environment = { TOOLS_DIR: tools, CONFIG_FILE: file, TMPDIR: directory, TOOLS_ENV: 'TMPDIR' };
  const { url } = await startProcess({ by: 'npm', environment });
  const paste = async (command: string) => {
    const here = command.replaceAll('http://127.0.0.1:8080', url);
    const { stdout } = await promisify(execFile)('sh', ['-c', here], { env: cleanEnvironment({}) });
    return stdout
      .trim()
      .split('\n')
      .map((line) => Answer.parse(JSON.parse(line)).results[0]);
  };
  const [refused, checked, tried, waits] = await paste(first);
  expect(refused).toMatchObject({ outcome: 'refused', error: { code: 'rule_refused', rule: 'fraud_check_first' } });
  expect(checked).toMatchObject({ outcome: 'success' });
  expect(tried).toMatchObject({
    outcome: 'checked',
    dry_run: { would: 'ask', rules: [{ remaining_after: '200' }, {}] },
  });
  expect(waits).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'approval_required' } });

  const listed: unknown = await (await fetch(`${url}/approvals`)).json();
  const { id, digest } = Waiting.parse(listed).approvals[0];
  expect(tried).toMatchObject({ dry_run: { digest } });
  const headers = { 'content-type': 'application/json', 'if-match': `"${digest}"` };
  const decided = await fetch(`${url}/approvals/${id}`, { method: 'POST', headers, body: '{"decision":"approve"}' });
  expect(decided.status).toBe(200);

  const definition = first.slice(0, first.indexOf('call false a'));
  const [ran, over] = await paste(definition + then);
  expect(ran).toMatchObject({ outcome: 'success', executed: 'yes' });
  expect(over).toMatchObject({ outcome: 'refused', error: { code: 'rule_refused', rule: 'refund_cap' } });
  expect(over?.message).toContain('200 of 500 are left');
  const ledger = readFileSync(join(directory, 'recourse-refunds.jsonl'), 'utf8').trim().split('\n');
  expect(ledger.map((line) => JSON.parse(line))).toEqual([
    { reference: expect.stringMatching(/^e_/), order_id: 'o-7', amount: 300 },
  ]);
});
