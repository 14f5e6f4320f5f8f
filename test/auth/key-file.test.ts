import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createApiKeys, loadApiKeys, loadKeyFile, type Reload, readKeyFile } from '#src/auth/api-keys.ts';
import { readFirstKeyFile } from '#src/config/read-configuration.ts';
import { loadConfig } from '#src/config/settings/config.ts';
import { type FileReading, watchFile } from '#src/files/watch-file.ts';
import { wire } from '#src/wiring/wire.ts';

const SOON = { timeout: timeLimit(15_000), interval: 5 };
const MIB = 1024 * 1024;
const lineOf = (tenant: string, key: string): string => `${tenant}=${hash('sha256', key)}`;

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-keys-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

const makeFile = (text: string): string => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, text);
  return file;
};

const makePipe = (): string => {
  const pipe = join(makeDirectory(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  return pipe;
};

const problemOf = async (path: string): Promise<string> => {
  const reading = await readKeyFile(path);
  if (reading.ok) throw new Error(`It was read: ${reading.text.length} characters.`);
  expect(() => loadKeyFile(path)).toThrow(reading.problem);
  return reading.problem;
};

test('a pipe, a device and a directory are no file of keys, and are not waited for', async () => {
  const [pipe, directory] = [makePipe(), makeDirectory()];
  const link = join(directory, 'link');
  symlinkSync(pipe, link);
  for (const path of [pipe, directory, link, '/dev/zero'])
    expect(await problemOf(path)).toBe(`${path} is not a regular file; the key file is reread on changes.`);
});

test('a file of a mebibyte is read, and one that is larger is refused in one sentence', async () => {
  const full = makeFile('#'.repeat(MIB));
  expect([loadKeyFile(full).text.length, await readKeyFile(full)]).toEqual([MIB, { ok: true, text: '#'.repeat(MIB) }]);
  const large = makeFile('#'.repeat(MIB + 1));
  expect(await problemOf(large)).toBe(`${large} is larger than 1 MiB; a key file has one key per line.`);
});

test('a file that is not there is refused in the words of the system', async () => {
  const file = join(makeDirectory(), 'keys');
  expect(await problemOf(file)).toBe(`ENOENT: no such file or directory, open '${file}'`);
});

test('lines may end in LF, CRLF or CR, and are counted alike', () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const fileText = ['# the keys of acme', lineOf('acme', 'a'), '', 'wrong', lineOf('beta', 'b')].join(end);
    const { keys, mistakes } = loadApiKeys({ entries: [], fileText });
    expect(keys.map(({ caller }) => caller.tenant)).toEqual(['acme', 'beta']);
    expect(mistakes.map((mistake) => mistake.slice(0, 12))).toEqual(['line 4 must ']);
  }
});

test('of many mistakes the first twenty are told, and how many there are beside them', () => {
  const mistakesOf = (lines: number) => loadApiKeys({ entries: [], fileText: 'x\n'.repeat(lines) }).mistakes;
  expect(mistakesOf(20)).toHaveLength(20);
  const many = mistakesOf(5021);
  expect(many).toHaveLength(21);
  expect(many[19]).toMatch(/^line 20 must be/);
  expect(many[20]).toBe('… and 5001 more');
});

const follow = (file: string) => {
  const reloads: Reload[] = [];
  const onReload = (reload: Reload): void => void reloads.push(reload);
  const keys = createApiKeys({ entries: [], file: loadKeyFile(file), onReload, time: () => 0, pollMs: 5 });
  onTestFinished(keys.close);
  return { reloads, isKnown: (key: string): boolean => keys.authenticate(key).kind === 'known' };
};

test('a pipe or a large file in the place of the keys changes nothing, is told, and a right file is taken after it', async () => {
  const file = makeFile(lineOf('acme', 'old'));
  const { reloads, isKnown } = follow(file);
  renameSync(makePipe(), file);
  await expect.poll(() => reloads.length, SOON).toBe(1);
  unlinkSync(file);
  // Moved into its place at once, or the time in between would be told, too.
  await expect.poll(() => reloads.length, SOON).toBe(2);
  writeFileSync(`${file}.new`, '\u0000\u0001\n'.repeat(MIB));
  renameSync(`${file}.new`, file);
  await expect.poll(() => reloads.length, SOON).toBe(3);
  expect(isKnown('old')).toBe(true);
  expect(reloads).toEqual([
    { result: 'refused', mistakes: [`${file} is not a regular file; the key file is reread on changes.`] },
    { result: 'refused', mistakes: [`ENOENT: no such file or directory, open '${file}'`] },
    { result: 'refused', mistakes: [`${file} is larger than 1 MiB; a key file has one key per line.`] },
  ]);
  writeFileSync(`${file}.new`, `# one comment and one key\r${lineOf('acme', 'new')}\r`);
  renameSync(`${file}.new`, file);
  await expect.poll(() => isKnown('new'), SOON).toBe(true);
  expect(isKnown('old')).toBe(false);
});

/** A file system that is away until it says something. */
const createSlowReads = () => {
  const waiting: ((reading: FileReading) => void)[] = [];
  const state: { begun: number; most: number; text: string | null } = { begun: 0, most: 0, text: null };
  const read = (): Promise<FileReading> => {
    state.begun += 1;
    if (state.text !== null) return Promise.resolve({ ok: true, text: state.text });
    const { promise, resolve } = Promise.withResolvers<FileReading>();
    waiting.push(resolve);
    state.most = Math.max(state.most, waiting.length);
    return promise;
  };
  /** The last that was begun answers first. */
  const answerAll = (text: string): void => {
    for (const answer of waiting.splice(0).toReversed()) answer({ ok: true, text });
  };
  return { state, read, answerAll };
};

test('a reading that never ends is told once, another is tried, and no more than two hold threads', async () => {
  const told: FileReading[] = [];
  const { state, read, answerAll } = createSlowReads();
  const onChange = (reading: FileReading): void => void told.push(reading);
  onTestFinished(watchFile({ file: { path: 'keys', text: 'old' }, pollMs: 2, onChange, read }));
  const NO_ANSWER = { ok: false, problem: 'reading it timed out' };
  await expect.poll(() => told, SOON).toEqual([NO_ANSWER]);
  expect(state).toEqual({ begun: 2, most: 2, text: null });
  // Two answers, and yet no two readings in a row: the first of them is of before the other.
  answerAll('new');
  await expect.poll(() => state.begun, SOON).toBeGreaterThan(2);
  expect(told).toEqual([NO_ANSWER]);
  state.text = 'new';
  answerAll('new');
  await expect.poll(() => told, SOON).toEqual([NO_ANSWER, { ok: true, text: 'new' }]);
  state.text = null;
  await expect.poll(() => told, SOON).toEqual([NO_ANSWER, { ok: true, text: 'new' }, NO_ANSWER]);
  expect(state.most).toBe(2);
});

test('a file that leaves nobody who may call is refused, unless there is another way in', () => {
  const file = makeFile('');
  const { config } = loadConfig({ API_KEYS_FILE: file });
  expect(() => readFirstKeyFile(config)).toThrow(new Error(`API_KEYS_FILE ${file} contains no key.`));
  const { config: beside } = loadConfig({ API_KEYS_FILE: file, API_KEYS: lineOf('acme', 'k') });
  expect(readFirstKeyFile(beside)).toEqual({ path: file, text: '' });
});

test('what was looked at for mistakes is what is used: the file is not read again', async () => {
  const file = makeFile(lineOf('acme', 'k'));
  const { config } = loadConfig({ API_KEYS_FILE: file, PORT: '0' });
  const keyFile = readFirstKeyFile(config);
  writeFileSync(file, 'half a line');
  const service = await wire(config, pino({ level: 'silent' }), { keyFile });
  onTestFinished(async () => {
    await service.app.close();
    await service.close();
  });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  const address = service.app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const answer = await fetch(`http://127.0.0.1:${port}/tools`, { headers: { 'x-api-key': 'k' } });
  expect(answer.status).toBe(200);
});

test('a pipe of keys, as a shell makes of <(…), is refused before anything listens, beside all other mistakes', async () => {
  const pipe = makePipe();
  const ended = await runToEnd({
    by: 'node',
    environment: { API_KEYS_FILE: pipe, WORKSPACE_DIR: '/nonexistent', PORT: 'x' },
  });
  expect([ended.code, ended.stdout]).toEqual([1, '']);
  const lines = ended.stderr.trim().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^recourse: PORT /);
  expect(lines.slice(1)).toEqual([
    `recourse: API_KEYS_FILE: ${pipe} is not a regular file; the key file is reread on changes.`,
    "recourse: WORKSPACE_DIR: The workspace '/nonexistent' does not exist.",
  ]);
});

test('keys that are older than a call do not refuse it: another process may have read newer ones, for ten minutes', async () => {
  let moment = 1000;
  const file = { path: 'keys', text: lineOf('acme', 'old') };
  const { promise: reloaded, resolve } = Promise.withResolvers<void>();
  let text = file.text;
  const keys = createApiKeys({
    entries: [],
    file,
    onReload: () => resolve(),
    time: () => moment,
    read: async () => ({ ok: true, text }),
    pollMs: 1,
  });
  onTestFinished(keys.close);
  const mayCall = (key: string, acceptedAt: number, tenant = 'acme') =>
    keys.mayCall({ keyHash: hash('sha256', key), tenant, tool: 'work', agoMs: moment - acceptedAt });
  expect([mayCall('old', 2000), mayCall('new', 500), mayCall('new', 2000)]).toEqual(['yes', 'no', 'unknown']);
  expect(mayCall('old', 2000, 'globex')).toBe('unknown');
  moment = 602_000;
  expect(mayCall('new', 2000)).toBe('no');
  text = lineOf('acme', 'new');
  await reloaded;
  expect([mayCall('new', 2000), mayCall('old', 2000), mayCall('old', 700_000)]).toEqual(['yes', 'no', 'unknown']);
});
