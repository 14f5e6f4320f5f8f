import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment, ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const LEDGER = '/tmp/recourse-ledger.jsonl';

/** The commands of the section of README.md, in the order in which they are pasted. */
const readCommands = (): readonly string[] => {
  const page = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, section = ''] = page.split('## When an answer is lost\n');
  return [...(section.split(/^## /m)[0] ?? '').matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
};

const Answer = z.object({ results: z.array(z.looseObject({ outcome: z.string(), executed: z.string() })) });

const startPayments = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-payments-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [start = '', ...blocks] = readCommands();
  const [, tools = ''] = /^TOOLS_DIR=(\S+) npm start\n$/.exec(start) ?? [];
  // A ledger of its own: a payment of another run would be found as well.
  const environment = { TOOLS_DIR: tools, TMPDIR: directory, TOOLS_ENV: 'TMPDIR' };
  const { url } = await startProcess({ by: 'npm', environment });
  const paste = async (command: string): Promise<readonly string[]> => {
    const here = command
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll(LEDGER, join(directory, 'recourse-ledger.jsonl'));
    const { stdout } = await promisify(execFile)('sh', ['-c', here], { env: cleanEnvironment({}) });
    return stdout.trim().split('\n');
  };
  return { blocks, paste };
};

const readResult = (line: string | undefined) => Answer.parse(JSON.parse(line ?? '')).results[0];

test('the commands of README.md show a payment that is found although its process was killed, and a ledger with one payment', async () => {
  const { blocks, paste } = await startPayments();
  expect(blocks).toHaveLength(1);
  const [first, second, ledger, ...others] = await paste(blocks.join(''));
  const found = {
    outcome: 'success',
    executed: 'yes',
    value: { reference: expect.stringMatching(/^e_[\w-]{22}$/), payee: 'ACME', amount: 120 },
    reconciled: { by: 'tool', attempts: 1, after_ms: expect.any(Number) },
  };
  expect(readResult(first)).toMatchObject(found);
  expect(readResult(second)).toMatchObject({ ...found, replayed: true });
  expect(JSON.parse(ledger ?? '')).toEqual(readResult(first)?.['value']);
  expect(others).toEqual([]);
  const [lost] = await paste(
    (blocks[0] ?? '')
      .replace('after_booking', 'before_booking')
      .replaceAll('invoice-7', 'other')
      .replace('pay; pay', 'pay #'),
  );
  expect(readResult(lost)).toMatchObject({ outcome: 'retry', executed: 'no', reconciled: { by: 'tool' } });
});
