import { createActor, startLab } from '@recourse/test-support/keyed-client.ts';
import { runInProcess } from '@recourse/test-support/run-in-process.ts';
import { defineTool } from 'recourse-server/tools/define-tool';
import { expect, test } from 'vitest';
import * as z from 'zod';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effects: 'write',
  input: z.object({ amount: z.number() }),
  run: ({ amount }) => amount,
});

const start = async () => {
  const { service } = await startLab([{ tool: pay }, createActor('look')]);
  return {
    service,
    run: (...words: readonly string[]) => runInProcess(['report', ...words], { RECOURSE_URL: service.url }),
  };
};

test('a report shows calls by tool, wrong arguments, and names that no tool has', async () => {
  const { service, run } = await start();
  await service.call([
    { name: 'pay', arguments: { amount: 'x' } },
    { name: 'pay', arguments: { amount: 1 } },
    { name: 'look', arguments: {} },
    { name: 'pai\u001b[2J\u202e', arguments: {} },
    { name: 'pai', arguments: {} },
  ]);
  const { end, stdout, stderr } = await run('--since', '1h');
  expect({ end, stderr }).toEqual({ end: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^\S+Z to \S+Z: 5 calls, 3 failures$/),
    '',
    'tool      calls  failed  recovered  gave up  failures by code',
    expect.stringMatching(/^─+$/),
    '_unknown      2       2          0        0  unknown_tool 2',
    'pay           2       1          0        0  invalid_arguments 1',
    'look          1       0          0        0',
    '',
    'Arguments that models get wrong',
    'failed  tool  argument  what the schema asks for',
    expect.stringMatching(/^─+$/),
    '     1  pay   amount    a number',
    '',
    'Names that no tool has',
    'calls  nearest tool  name',
    expect.stringMatching(/^─+$/),
    expect.stringMatching(/^ {4}1 {2}(pay|\(none\)) +pai/),
    expect.stringMatching(/^ {4}1 {2}(pay|\(none\)) +pai/),
    '',
  ]);
  expect(stdout).not.toContain('\u001b');
  expect(stdout).not.toContain('\u202e');
  const { stdout: json } = await run('--json');
  expect(json).not.toContain('\u202e');
  expect(JSON.parse(json)).toMatchObject({
    tools: [{ tool: '_unknown' }, { tool: 'pay' }, { tool: 'look', calls: 1 }],
  });
});

test('a time that is none is refused before the service is asked, and a service that is none is named', async () => {
  const { run } = await start();
  expect(await run('--since', 'yesterday')).toMatchObject({
    end: 2,
    stderr: expect.stringContaining('--since must be hours such as 6h, or a time such as 2026-11-30T00:00:00Z.'),
  });
  expect(await run('--since', '2026-11-30T00:00:00Z', '--url', 'http://127.0.0.1:1')).toMatchObject({ end: 1 });
});
