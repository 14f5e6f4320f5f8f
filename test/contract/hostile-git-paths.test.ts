import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { answerAmongGood, answerOne } from '@recourse/test-support/check-answer.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { createTemporaryWorkspace, type TemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let held: TemporaryWorkspace;
let service: RunningService;

beforeAll(async () => {
  held = await createTemporaryWorkspace({
    'notes.md': 'hello',
    '.git/config': '[core]\n',
    'sub/.git': 'gitdir: ../.git/modules/sub\n',
  });
  await mkdir(join(held.root, '.git/hooks'));
  await symlink('.git', join(held.root, 'linked'));
  await symlink('.git/hooks', join(held.root, 'hooks'));
  service = await startService({ WORKSPACE_DIR: held.root });
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
  await held[Symbol.asyncDispose]();
});

// Names that git, or a file system that is not case-sensitive, takes for .git: CVE-2014-9390, core.protectHFS, core.protectNTFS.
const SPELLINGS = [
  ...['.git', '.GIT', '.Git', '.git.', '.git ', '.git . .', 'git~1', 'GIT~1', 'Git~2. '],
  ...[
    '.git::$INDEX_ALLOCATION',
    '.git\\config',
    'a\\.git\\config',
    '.g\u200cit',
    '.git\ufeff',
    '\u200e.\u206aGI\u202eT',
  ],
  ...['.g\u00adit', '.ｇit', '.g\u0131t'],
];

const WRITTEN = [
  ...SPELLINGS,
  ...SPELLINGS.map((name) => `${name}/config`),
  ...SPELLINGS.map((name) => `deep/er/${name}/hooks/pre-commit`),
  ...['HEAD', 'proj/HEAD', 'proj/head. ', 'x.git/config', 'bare.GIT/hooks/post-update', 'a/b.git/objects/x'],
  ...['./.git/config', 'notes/../.git/config', 'sub/.git', 'linked/config', 'linked/new/file', 'hooks/pre-commit'],
];

const list = async (): Promise<readonly string[]> => (await readdir(held.root, { recursive: true })).toSorted();

test('nothing is written below a .git step or as a repository, however it is spelt and whatever link leads there, in batches with good calls', async () => {
  const before = await list();
  const entries = WRITTEN.map((path) =>
    JSON.stringify({ name: 'write_file', arguments: { path, content: '[core]\n  fsmonitor = "touch owned"\n' } }),
  );
  const results = [
    ...(await answerAmongGood(service, entries.slice(0, 30))),
    ...(await answerAmongGood(service, entries.slice(30, 60))),
    ...(await answerAmongGood(service, entries.slice(60))),
  ];
  expect(results).toHaveLength(WRITTEN.length);
  for (const { outcome, value, error, message } of results) {
    expect([outcome, value, error?.code]).toEqual(['retry', null, 'retry_requested']);
    expect(message).toContain('Git');
  }
  expect(await list()).toEqual(before);
  expect(await readFile(join(held.root, '.git/config'), 'utf8')).toBe('[core]\n');
});

test('the refusal says what to do, and reading stays allowed', async () => {
  const refused = await answerOne(service, { name: 'write_file', arguments: { path: '.git/config', content: '' } });
  expect(refused).toMatchObject({
    outcome: 'retry',
    message:
      "'.git/config' was not written: it belongs to a Git directory, whose files can make Git run commands. Choose a path outside it.",
  });
  const read = await answerOne(service, { name: 'read_file', arguments: { path: '.git/config' } });
  expect(read).toMatchObject({ success: true, value: { content: '[core]\n' } });
});

test.each(['.gitignore', '.gitattributes', '.github/ci.yml', 'git', 'digit~1', '.gits', 'ahead.md'])(
  'what only looks alike is written: %s',
  async (path) => {
    const written = await answerOne(service, { name: 'write_file', arguments: { path, content: 'x' } });
    expect(written).toMatchObject({ success: true, value: { path } });
  },
);
