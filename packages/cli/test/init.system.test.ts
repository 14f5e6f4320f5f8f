import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

type Shown = { readonly code: number; readonly stdout: string; readonly stderr: string };

const directory = mkdtempSync(join(tmpdir(), 'recourse-init-'));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (file: string, words: readonly string[], cwd = directory): Promise<Shown> =>
  new Promise((resolve, reject) => {
    execFile(file, words, { cwd, env: cleanEnvironment({}), timeout: timeLimit(25_000) }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });

const recourse = (...words: readonly string[]): Promise<Shown> =>
  run('node', [...FROM_SOURCES, join(ROOT, 'src/main.ts'), ...words]);

// What `check` says of the two tools.
const SHARED = '2 files share processes: add-note.ts, roll-dice.ts\n';

let made: Shown;
beforeAll(async () => {
  made = await recourse('init', 'our tools');
});

test('what was made is named, with the commands to go on with', () => {
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.stdout).toMatch(
    /^Made our tools: roll-dice\.ts, roll-dice\.test\.ts, add-note\.ts, add-note\.test\.ts, package\.json, tsconfig\.json, README\.md, \.gitignore\.\n\nNext:\n/,
  );
  expect(made.stdout).toContain("  npm test --prefix 'our tools' ");
  expect(made.stdout).toContain("src/main.ts call --tools 'our tools' roll_dice count=2 sides=6");
});

test('its tests pass, its types are right under strict, and it loads', { timeout: timeLimit(60_000) }, async () => {
  const tools = join(directory, 'our tools');
  const tested = await run('npm', ['test'], tools);
  expect([tested.code, tested.stdout]).toEqual([0, expect.stringContaining('pass 3')]);
  expect(await run('npm', ['run', '--silent', 'types'], tools)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await run('npm', ['run', '--silent', 'check'], tools)).toEqual({
    code: 0,
    stdout: `${SHARED}2 tools: add_note, roll_dice; no problems\n`,
    stderr: '',
  });
});

test('nothing is overwritten, and nothing made beside a file that is there', async () => {
  writeFileSync(join(directory, 'tsconfig.json'), 'mine');
  const { code, stdout, stderr } = await recourse('init', '.');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe('recourse: nothing was created: . already contains tsconfig.json. Name another directory.\n');
  expect(readFileSync(join(directory, 'tsconfig.json'), 'utf8')).toBe('mine');
  expect(readdirSync(directory).sort()).toEqual(['our tools', 'tsconfig.json']);
});

test('a directory that cannot be made is said', async () => {
  const { code, stderr } = await recourse('init', 'tsconfig.json/tools');
  expect([code, existsSync(join(directory, 'tsconfig.json/tools'))]).toEqual([1, false]);
  expect(stderr).toMatch(/^recourse: tsconfig\.json\/tools could not be written: ENOTDIR/);
});
