import { findClosedPort } from '@recourse/test-support/http-target.ts';
import { runInProcess } from '@recourse/test-support/run-in-process.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

test.for([
  ['a misspelt command', ['srve'], "unknown command 'srve'\n(Did you mean serve?)", 'recourse'],
  ['a command that there is not', ['run'], "unknown command 'run'", 'recourse'],
  ['a misspelt option', ['--prot', '9000'], "unknown option '--prot'\n(Did you mean --port?)", 'recourse serve'],
  ['an option of another command', ['check', 'tools', '--port', '9'], "unknown option '--port'", 'recourse check'],
  [
    'a word too many',
    ['init', 'a', 'b'],
    "too many arguments for 'init'. Expected 1 argument but got 2: a, b.",
    'recourse init',
  ],
  ['a tool that is not named', ['call'], "missing required argument 'tool'", 'recourse call'],
  [
    'arguments in two ways',
    ['call', 'echo', 'text=a', '--args', '{}'],
    'Pass arguments as name=value or with --args, not both.',
    'recourse call',
  ],
  [
    'two services',
    ['call', 'echo', '--tools', 'tools', '--url', 'http://127.0.0.1:1'],
    '--tools starts a temporary service for this call: it cannot be combined with --url or --key.',
    'recourse call',
  ],
] as const)('%s ends with 2 and says what to do', async ([, words, problem, command]) => {
  expect(await runInProcess(words)).toEqual({
    end: 2,
    stdout: '',
    stderr: `recourse: ${problem}\nRun ${command} --help for ${command === 'recourse' ? 'the list of commands and options' : 'its arguments and options'}.\n`,
  });
});

test('help lists every command, and each has its own', async () => {
  const { end, stdout, stderr } = await runInProcess(['--help']);
  expect([end, stderr]).toEqual([0, '']);
  const commands = [
    'serve',
    'worker',
    'init',
    'check',
    'call',
    'key',
    'session',
    'approvals',
    'report',
    'store',
    'webhooks',
  ];
  expect([...stdout.matchAll(/^ {2}([a-z]+) .*\S$/gm)].map(([, name]) => name).slice(0, commands.length)).toEqual(
    commands,
  );
  for (const command of commands)
    expect((await runInProcess([command, '--help'])).stdout).toMatch(
      new RegExp(`^Usage: recourse ${command} .*Exit code: 0 = `, 's'),
    );
});

test('the version is that of the package', async () => {
  expect(await runInProcess(['--version'])).toEqual({
    end: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  });
});

test('a dry run says what the call would do, and whether it would fail', async () => {
  const service = await startService();
  onTestFinished(() => service.stop());
  const call = (...words: readonly string[]) => runInProcess(['call', ...words, '--url', service.url, '--dry-run']);
  const { end, stdout } = await call('echo', 'text=a');
  expect([end, stdout]).toEqual([0, expect.stringMatching(/^echo: dry run, would run\n {2}message {3}Dry run: /)]);
  const wrong = await call('echo', 'txt=a');
  expect([wrong.end, wrong.stdout]).toEqual([
    1,
    expect.stringMatching(/^echo: dry run, would retry, invalid_arguments\n/),
  ]);
});

test('a service that is not there is said to be, with exit code 1', async () => {
  const url = `http://127.0.0.1:${await findClosedPort()}`;
  expect(await runInProcess(['call', 'echo', 'text=a', '--url', url])).toEqual({
    end: 1,
    stdout: '',
    stderr: `The service at ${url} cannot be reached (ECONNREFUSED). Start it with npm start or recourse, or set --url (or RECOURSE_URL).\n`,
  });
});
