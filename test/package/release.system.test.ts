import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

// The documents are generated twice, and git copies the files.
const PATIENCE = { timeout: timeLimit(120_000) };

const clone = mkdtempSync(join(tmpdir(), 'recourse-release-'));
afterAll(() => rmSync(clone, { recursive: true, force: true }));

const NOBODY = {
  GIT_AUTHOR_NAME: 'a test',
  GIT_AUTHOR_EMAIL: 'test@example.org',
  GIT_COMMITTER_NAME: 'a test',
  GIT_COMMITTER_EMAIL: 'test@example.org',
} as const;

const run = (command: string, ...words: readonly string[]) =>
  spawnSync(command, words, { cwd: clone, encoding: 'utf8', env: cleanEnvironment(NOBODY) });
const git = (...words: readonly string[]): string => run('git', ...words).stdout;
const release = (...words: readonly string[]) => run('node', 'scripts/release.ts', ...words);
const read = (path: string): string => readFileSync(join(clone, path), 'utf8');

// A repository of the files as they are now: what is not committed yet is tested, too.
beforeAll(() => {
  const files = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).stdout;
  spawnSync('tar', ['--create', '--null', '--files-from=-', '--file', join(clone, 'files.tar')], {
    cwd: ROOT,
    input: files,
  });
  run('tar', '--extract', '--file', 'files.tar');
  rmSync(join(clone, 'files.tar'));
  for (const path of ['node_modules', 'clients/typescript/node_modules'])
    symlinkSync(join(ROOT, path), join(clone, path));
  git('init', '--quiet', '--initial-branch=main');
  appendFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'As it is.');
});

test('a dry run says what a release would do, and changes nothing', PATIENCE, () => {
  const { status, stdout, stderr } = release('99.0.0', '--dry-run');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+ -> 99\.0\.0: the tree is clean, and the generated documents are up to date\n/);
  expect(stdout).toContain('Would write the version, close the changelog, pack, commit and tag v99.0.0.\n');
  expect(stdout).toContain('Nothing is published. To publish 99.0.0:\n');
  expect(git('status', '--porcelain')).toBe('');
  expect(git('tag')).toBe('');
});

test('a word that is no version, an older one, and a tree with changes are refused with one sentence', PATIENCE, () => {
  expect(release('next').stderr).toBe(
    "release: 'next' is no version: give major, minor, patch, or one such as 1.2.3.\n",
  );
  expect(release('0.0.1').stderr).toMatch(/^release: 0\.0\.1 is older than the current version, \d+\.\d+\.\d+\.\n$/);
  appendFileSync(join(clone, 'README.md'), '\n');
  const { status, stderr } = release('99.0.0');
  expect([status, stderr]).toEqual([
    1,
    'release: The working tree has changes; commit them or take them back:\n M README.md\n\n',
  ]);
  git('checkout', '--', 'README.md');
});

test('files that git ignores and npm would pack are named, and nothing is released', PATIENCE, () => {
  const file = join(clone, 'examples/workspace/keys.txt');
  writeFileSync(file, 'a secret\n');
  expect(git('status', '--porcelain')).toBe('');
  const { status, stderr } = release('99.0.0', '--dry-run');
  rmSync(file);
  expect([status, stderr]).toEqual([
    1,
    'release: These files would be packed, and git ignores them; remove them:\n!! examples/workspace/keys.txt\n\n',
  ]);
});

test(
  'a release has its version everywhere, a section in the changelog, a commit and a tag, and is not published',
  PATIENCE,
  () => {
    const { status, stdout, stderr } = release('99.1.0', '--no-packages');
    expect([status, stderr]).toEqual([0, '']);
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '-1', '--format=%s')).toBe('Release 99.1.0\n');
    expect(git('tag', '--points-at', 'HEAD')).toBe('v99.1.0\n');
    expect(read('CHANGELOG.md')).toMatch(/\n## Unreleased\n\n## 99\.1\.0 - \d{4}-\d\d-\d\d\n\n/);
    for (const path of [
      'package.json',
      'checkout/package.json',
      'clients/typescript/package.json',
      'openapi/openapi.json',
    ])
      expect(read(path), path).toContain('"version": "99.1.0"');
    // The lock file's own, the package's, and those of the two others in the repository.
    expect(read('package-lock.json').match(/"version": "99\.1\.0"/g)).toHaveLength(4);
    expect(git('show', '--format=', '--numstat', '--', 'package-lock.json')).toBe('4\t4\tpackage-lock.json\n');
    expect(read('Dockerfile')).toContain('ARG VERSION=99.1.0\n');
    for (const path of ['deploy/kubernetes/deployment.yaml', 'deploy/kubernetes/workers/deployment.yaml'])
      expect(read(path), path).toContain('image: recourse:99.1.0\n');
    expect(read('README.md')).toContain('recourse-server-99.1.0.tgz');
    expect(stdout.slice(stdout.indexOf('Nothing is published'))).toBe(
      `Nothing is published. To publish 99.1.0:
  git push --follow-tags
  npm publish release/99.1.0/recourse-server-99.1.0.tgz --access public
  npm publish release/99.1.0/recourse-client-99.1.0.tgz --access public
  docker build --build-arg VERSION=99.1.0 --build-arg REVISION=$(git rev-parse v99.1.0) -t recourse:99.1.0 -t recourse:99.1 -t recourse:99 .
  docker push recourse:99.1.0
  docker push recourse:99.1
  docker push recourse:99
`,
    );
    expect(release('99.1.0').stderr).toBe('release: The tag v99.1.0 is there already.\n');
  },
);
