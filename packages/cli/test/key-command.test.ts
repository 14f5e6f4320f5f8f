import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postAs } from '@recourse/test-support/access-client.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { runInProcess } from '@recourse/test-support/run-in-process.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { expect, onTestFinished, test } from 'vitest';
import { WrongUse } from '#src/command-output.ts';
import { runKey } from '#src/key-command.ts';

type Shown = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs `npm run key` as a person does, but for npm. */
const makeKey = (words: readonly string[]): Promise<Shown> =>
  new Promise((resolve, reject) => {
    const options = { cwd: ROOT, env: cleanEnvironment({}), timeout: timeLimit(20_000) };
    execFile('node', [...FROM_SOURCES, 'src/main.ts', 'key', ...words], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-keys-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

test('a key is shown once, with the line that the service is given', async () => {
  const words = '--tenant acme --name ci --tools echo|list_* --may call|read --rate 600/m --expires 2099-06-30'.split(
    ' ',
  );
  const { code, stdout, stderr } = await makeKey(words);
  const [key = '', line, ...rest] = stdout.split('\n');
  expect([code, rest]).toEqual([0, ['']]);
  expect(key).toMatch(/^rcs_[A-Za-z0-9_-]{43}$/);
  const attributes = 'name=ci tools=echo|list_* may=call|read rate=600/m expires=2099-06-30';
  expect(line).toBe(`acme=${hash('sha256', key)} ${attributes}`);
  expect(stderr).not.toContain(key);
  expect((await makeKey(['--tenant', 'acme'])).stdout).not.toContain(key);
});

test('a key may operate only where it is asked for', async () => {
  const asked = await makeKey(['--tenant', 'acme', '--may', 'read|operate']);
  const [key = '', line] = asked.stdout.split('\n');
  expect([asked.code, line]).toEqual([0, `acme=${hash('sha256', key)} may=read|operate`]);
  const wrong = await makeKey(['--tenant', 'acme', '--may', 'operator']);
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toContain('separate call, read, reset, operate and approve by |, each at most once');
});

test('a key of the store is an entry that the service takes, alone on stdout, and what to do with it', async () => {
  const { code, stdout, stderr } = await makeKey(['--store']);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f]{8}:[A-Za-z0-9+/]{43}=\n$/)]);
  expect(stderr).toContain('STORE_KEYS');
  expect(stderr).not.toContain(stdout.trim().slice(9));
  const { config, ...rest } = loadConfig({ STORE_KEYS: stdout.trim() });
  expect([config.STORE_KEYS, rest]).toEqual([[stdout.trim()], {}]);
});

test('a line is added to a file, which a service that runs follows', async () => {
  const file = join(makeDirectory(), 'keys');
  const first = await makeKey(['--tenant', 'acme', '--file', file]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const service = await startService({ API_KEYS_FILE: file });
  onTestFinished(service.stop);
  const call = { calls: [{ name: 'echo', arguments: { text: 'x' } }] };
  expect((await postAs(service, first.stdout.trim(), call)).status).toBe(200);
  const second = await makeKey(['--tenant', 'beta', '--file', file]);
  const key = second.stdout.trim();
  await expect
    .poll(async () => (await postAs(service, key, call)).status, { timeout: timeLimit(15_000), interval: 50 })
    .toBe(200);
});

test('what stands in the file stays, also where its last line is not ended, and so do its rights', async () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, '# ours');
  chmodSync(file, 0o640);
  const { stdout, stderr } = await makeKey(['--tenant', 'acme', '--file', file]);
  // `KEY=$(recourse key … --file keys)` is the key, and nothing else.
  expect(stdout).toMatch(/^rcs_[A-Za-z0-9_-]{43}\n$/);
  const line = `acme=${hash('sha256', stdout.trim())}`;
  expect(readFileSync(file, 'utf8')).toBe(`# ours\n${line}\n`);
  expect(stderr).toContain(`\nits line, added to ${file}:\n${line}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test('what is asked for wrongly makes no key and touches no file', async () => {
  const file = join(makeDirectory(), 'keys');
  const { code, stdout, stderr } = await makeKey(['--tenant', 'acme', '--rate', 'fast', '--file', file]);
  expect([code, stdout, existsSync(file)]).toEqual([2, '', false]);
  expect(stderr).toMatch(
    /^recourse: The key has an invalid rate=; write requests per second, minute or hour, for example 600\/m\.\nRun recourse key --help/,
  );
});

test('a file that cannot be written is said, and no key is shown that nobody could use', async () => {
  const file = join(makeDirectory(), 'missing', 'keys');
  const { code, stdout, stderr } = await makeKey(['--tenant', 'acme', '--file', file]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    `No key was created: ${file} could not be written (ENOENT: no such file or directory, open '${file}'). Name a file in a directory you can write to.\n`,
  );
});

test.for([
  ['no tenant', {}, '--tenant is missing: it names the owner of the key.'],
  [
    'the reserved tenant',
    { tenant: 'anonymous' },
    '--tenant must be 1 to 64 letters, digits, _ . and -, and not `anonymous`, which is reserved.',
  ],
  [
    'a tenant with a blank',
    { tenant: 'a b' },
    '--tenant must be 1 to 64 letters, digits, _ . and -, and not `anonymous`, which is reserved.',
  ],
  ['a blank in tools', { tenant: 'a', tools: 'x may=call' }, '--tools must not contain spaces.'],
  ['a file without a name', { tenant: 'a', file: '' }, '--file must name a file.'],
  [
    'a tenant of a key of the store',
    { tenant: 'a', store: true },
    '--store makes a key of the store, which has no tenant and no permissions: leave out the other options.',
  ],
] as const)('%s is said to be wrong', ([, words, wrong]) => {
  const fail = (): never => expect.fail('Nothing is written.');
  const terminal = { write: fail, writeError: fail, columns: 80, colors: 'off' } as const;
  expect(() => runKey(words, terminal)).toThrow(new WrongUse(wrong));
});

test.for([
  ['an option that is none', ['--tenant', 'a', '--admin'], "recourse: unknown option '--admin'\n"],
  ['a misspelt option', ['--tenat', 'a'], "recourse: unknown option '--tenat'\n(Did you mean --tenant?)\n"],
  [
    'a word too many',
    ['--tenant', 'a', 'b'],
    "recourse: too many arguments for 'key'. Expected 0 arguments but got 1: b.\n",
  ],
] as const)('%s is said to be wrong', async ([, words, problem]) => {
  const { end, stdout, stderr } = await runInProcess(['key', ...words]);
  expect({ end, stdout, stderr }).toEqual({
    end: 2,
    stdout: '',
    stderr: `${problem}Run recourse key --help for its arguments and options.\n`,
  });
});

test('help is given whatever else is asked for', async () => {
  for (const words of [['--help', '--tenant', 'anonymous'], ['-h']]) {
    const { end, stdout } = await runInProcess(['key', ...words]);
    expect([end, stdout.startsWith('Usage: recourse key [options]')]).toEqual([0, true]);
  }
});
