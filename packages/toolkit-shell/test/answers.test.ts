import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOne } from '@recourse/test-support/check-answer.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ShellLab, startShellLab, stdoutOf } from '#test/shell-lab.ts';

let lab: ShellLab;
beforeAll(async () => {
  lab = await startShellLab({ SHELL_OUTPUT_BYTES: '1024' });
});
afterAll(() => lab.stop());

test('a command that succeeds gives its output, counted in lines', async () => {
  expect(await lab.run('echo one; echo two; printf three; echo note >&2')).toMatchObject({
    outcome: 'success',
    executed: 'yes',
    message: '',
    value: {
      display: 'The command succeeded with 3 lines of output.',
      count: 3,
      exit_code: 0,
      stdout: 'one\ntwo\nthree',
      stderr: 'note\n',
    },
  });
  expect((await lab.run('echo one')).value).toMatchObject({
    display: 'The command succeeded with 1 line of output.',
    count: 1,
  });
});

test('no output is a success that says so', async () => {
  const result = await lab.run('true');
  expect(result).toMatchObject({
    outcome: 'success',
    empty: true,
    message: 'The command succeeded without output.',
    value: { display: 'The command succeeded without output.', count: 0, exit_code: 0, stdout: '', stderr: '' },
  });
  expect(await lab.run('echo note >&2')).toMatchObject({
    outcome: 'success',
    message: '',
    value: { display: 'The command succeeded and wrote only to stderr.', count: 0, stderr: 'note\n' },
  });
});

const APPEND_TRUE =
  'grep, diff, test and others exit with 1 (under xargs 123) if nothing matches: append `|| true` if that is an expected result.';

test.each([
  [
    'ls nothing',
    "Command failed: ls: cannot access 'nothing': No such file or directory (exit code 2).",
    { exit_code: 2, stdout: '', stderr: "ls: cannot access 'nothing': No such file or directory\n" },
  ],
  [
    'echo part; exit 7',
    'Command failed (exit code 7). It wrote only to stdout.',
    { exit_code: 7, stdout: 'part\n', stderr: '' },
  ],
  [
    'cat /etc/hosts | grep -c zzz; exit 1',
    `Command failed (exit code 1). It wrote only to stdout. ${APPEND_TRUE}`,
    { exit_code: 1, stdout: '0\n', stderr: '' },
  ],
  ['false', `Command failed without output (exit code 1). ${APPEND_TRUE}`, { exit_code: 1 }],
  ['ls | xargs grep zzz1', `Command failed without output (exit code 123). ${APPEND_TRUE}`, { exit_code: 123 }],
  ['exit 152', 'Command failed without output (exit code 152, as of a process killed by SIGXCPU).', { exit_code: 152 }],
  ['exit 3', 'Command failed without output (exit code 3).', { exit_code: 3, stdout: '', stderr: '' }],
  [
    'for n in 1 2 3 4 5 6 7; do echo "line $n" >&2; done; exit 1',
    'Command failed: line 3\nline 4\nline 5\nline 6\nline 7 (exit code 1).',
    { exit_code: 1 },
  ],
  [
    'kill -9 $$',
    'Command failed without output (exit code 137, as of a process killed by SIGKILL).',
    { exit_code: 137, stderr: '' },
  ],
  [
    'kill -TERM $$',
    'Command failed without output (exit code 143, as of a process killed by SIGTERM).',
    { exit_code: 143 },
  ],
  [
    'printf "\\033[31mred\\n{\\"level\\":60}" >&2; exit 1',
    'Command failed: \ufffd[31mred\n{"level":60} (exit code 1).',
    { stderr: '\ufffd[31mred\n{"level":60}' },
  ],
])('%s is a retry with its exit code and its last lines', async (command, message, value) => {
  expect(await lab.run(command)).toMatchObject({
    outcome: 'retry',
    executed: 'yes',
    error: { code: 'retry_requested' },
    message,
    value,
  });
});

test.each([
  [
    'no-such-program',
    127,
    'The program is not installed: check the spelling, or use another. Nothing can be installed.',
  ],
  ['/workspace', 126, 'The file is not executable: name its interpreter (sh file), or run chmod +x on it.'],
  ['echo x >/dev/stderr', 1, 'Write >&1 or >&2 instead of >/dev/stdout or >/dev/stderr.'],
])('%s says what to do differently', async (command, exitCode, advice) => {
  const result = await lab.run(command);
  expect(result).toMatchObject({ outcome: 'retry', value: { exit_code: exitCode } });
  expect(result.message).toContain(advice);
});

test('of long output both ends are kept, and the lines of all of it are counted', async () => {
  const { value } = await lab.run('seq 1 5000; seq 1 5000 >&2');
  const text = stdoutOf({ ...(await lab.run('seq 1 5000')) });
  expect(text.startsWith('1\n2\n3\n')).toBe(true);
  expect(text.endsWith('\n4999\n5000\n')).toBe(true);
  expect(text).toContain('\n[… 22869 bytes cut …]\n');
  expect(Buffer.byteLength(text)).toBeLessThan(1100);
  expect(value).toMatchObject({
    count: 5000,
    stdout: text,
    stderr: text,
    stdout_truncated: true,
    stderr_truncated: true,
  });
});

test('binary output is text with replacement characters', async () => {
  expect(stdoutOf(await lab.run("printf 'a\\0b\\377c\\001\\tä\\302\\233'"))).toBe('a\ufffdb\ufffdc\ufffd\tä\ufffd');
});

test('commands work on the files that the file tools see', async () => {
  writeFileSync(join(lab.root, 'in.txt'), 'b\na\n');
  expect(await lab.run('sort in.txt >sorted.txt && pwd')).toMatchObject({ value: { stdout: '/workspace\n' } });
  expect(readFileSync(join(lab.root, 'sorted.txt'), 'utf8')).toBe('a\nb\n');
});

test('commands of one batch run one after another', async () => {
  const results = await lab.service.call([toCall('sleep 1; echo written >order.txt'), toCall('cat order.txt')]);
  expect(results[1]).toMatchObject({ success: true, value: { stdout: 'written\n' } });
});

test('it is bash, with the usual programs, and a loopback of its own', async () => {
  const command =
    '[[ -n $BASH_VERSION ]] && echo {1..3} | tr " " "+" | awk -F+ "{print \\$1+\\$2+\\$3}"; whoami; getent hosts localhost';
  expect(stdoutOf(await lab.run(command))).toMatch(/^6\nsandbox\n\S+ +localhost/);
});

test.each([
  [{}, 'command'],
  [{ command: '' }, 'must contain a command'],
  [{ command: ' \n' }, 'must contain a command'],
  [{ command: 'echo a\0b' }, 'must not contain NUL characters'],
  [{ command: 'x'.repeat(16_385) }, '16384'],
  [{ command: 'true', cwd: '/' }, 'cwd'],
])('arguments %# are refused and nothing runs', async (input, text) => {
  const result = await answerOne(lab.service, { name: 'run_shell_command', arguments: input });
  expect(result).toMatchObject({ outcome: 'retry', executed: 'no', error: { code: 'invalid_arguments' } });
  expect(JSON.stringify(result)).toContain(text);
  expect(result.error?.issues).toHaveLength(1);
});

const toCall = (command: string) => ({ name: 'run_shell_command', arguments: { command } });

test('a search that finds nothing is a success, however often', async () => {
  for (const word of ['zzz1', 'zzz2', 'zzz3', 'zzz4'])
    expect((await lab.service.call([toCall(`grep -rn ${word} .`)], { session: 'searches' }))[0]).toMatchObject({
      outcome: 'success',
      empty: true,
      message: 'Nothing matched (exit code 1).',
      value: { display: 'Nothing matched (exit code 1).', count: 0, exit_code: 1, stdout: '', stderr: '' },
    });
  expect(await lab.run("seq 3 | grep -c 'z|z'")).toMatchObject({
    outcome: 'success',
    message: '',
    value: { display: 'Nothing matched (exit code 1), with 1 line of output.', count: 1, exit_code: 1, stdout: '0\n' },
  });
  // What could not search has found out nothing, whether it says so or not.
  expect(await lab.run("grep '[' /etc/hosts 2>/dev/null")).toMatchObject({
    outcome: 'retry',
    message: 'Command failed without output (exit code 2).',
  });
  expect(await lab.run('cat nowhere | grep zzz1')).toMatchObject({
    outcome: 'retry',
    message: 'Command failed: cat: nowhere: No such file or directory (exit code 1).',
  });
  expect(await lab.run('grep zzz1 nowhere')).toMatchObject({
    outcome: 'retry',
    message: 'Command failed: grep: nowhere: No such file or directory (exit code 2).',
  });
});

test('the catalogue says what it does and which limits hold', async () => {
  const answer: unknown = await (await fetch(`${lab.service.url}/tools`)).json();
  expect(answer).toMatchObject({
    tools: expect.arrayContaining([
      expect.objectContaining({
        name: 'run_shell_command',
        available: true,
        effects: 'write',
        limits: expect.objectContaining({ timeout_ms: 35_000, retries: 2, concurrency: 16 }),
      }),
    ]),
  });
});
