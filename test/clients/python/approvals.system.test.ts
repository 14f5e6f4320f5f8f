import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const PROGRAM = `
import sys
from recourse_client import Recourse

def tell(waiting):
    approval = waiting["pending"]["approval"]
    print("waits", approval["id"], approval["digest"], approval["summary"], file=sys.stderr, flush=True)

with Recourse(sys.argv[1]) as recourse:
    session = recourse.session("s")
    answer = session.answer_call("pay", {"amount": 5}, call_id="a", wait="all", timeout=300, on_approval=tell)
    print(answer.text, answer.is_error)
`;

test('a program hears once of a call that waits for a person, and reads how it was decided', async () => {
  const pay = createActor('pay', { effects: 'write' });
  const approvals = { rules: [{ tools: 'pay', decide: 'ask', summary: 'Pay {/amount}' }] };
  const { service } = await startConfigLab({ approvals }, {}, [pay.tool]);
  const { PATH = '' } = process.env;
  const environment = { PATH, PYTHONPATH: 'clients/python/src', PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn('python3', ['-c', PROGRAM, service.url], { env: environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => (said.output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said.errors += part));
  const ended = once(child, 'close');
  const Told = z.tuple([z.literal('waits'), z.string(), z.string(), z.literal('Pay'), z.literal('5')]);
  await expect.poll(() => said.errors, DEADLINE).toMatch(/\n$/);
  expect(pay.asked).toEqual([]);
  const [, id, digest] = Told.parse(said.errors.trim().split(' '));
  const decided = await fetch(`${service.url}/approvals/${id}`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', 'if-match': `"${digest}"` } },
    body: JSON.stringify({ decision: 'approve' }),
  });
  expect(decided.status).toBe(200);
  expect(await ended).toEqual([0, null]);
  expect(said.output).toBe('{"amount":5} False\n');
  expect(said.errors.match(/waits/g)).toHaveLength(1);
  expect(pay.asked).toEqual([{ amount: 5 }]);
});
