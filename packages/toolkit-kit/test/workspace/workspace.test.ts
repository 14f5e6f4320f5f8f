import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { createReadFile } from '@recourse/toolkit-files/read-file';
import { expect, test } from 'vitest';
import { explainFileErrors } from '#src/workspace/file-errors.ts';
import { createWorkspace } from '#src/workspace/workspace.ts';
import { quotePath, toWorkspacePath } from '#src/workspace/workspace-path.ts';

test('a root that does not exist is refused with one sentence', async () => {
  await expect(createWorkspace({ root: '/no/such/place' })).rejects.toThrow(
    /^The workspace '\/no\/such\/place' does not exist\.$/,
  );
});

test('a root that is a file is refused with one sentence', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'hello' });
  const root = join(held.root, 'notes.md');
  await expect(createWorkspace({ root })).rejects.toThrow(`The workspace '${root}' is not a directory.`);
});

test('a root below a file is refused with one sentence', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'hello' });
  const root = join(held.root, 'notes.md', 'below');
  await expect(createWorkspace({ root })).rejects.toThrow(`The workspace '${root}' cannot be opened (ENOTDIR).`);
});

test('the root of the file system is refused', async () => {
  await expect(createWorkspace({ root: '/' })).rejects.toThrow(
    'The workspace must not be the root of the file system.',
  );
});

test('a root that is a symbolic link stands for the directory it leads to', async () => {
  await using held = await createTemporaryWorkspace();
  const base = await mkdtemp(join(tmpdir(), 'recourse-link-'));
  await symlink(held.root, join(base, 'link'));
  expect((await createWorkspace({ root: join(base, 'link') })).root).toBe(held.root);
  await rm(base, { recursive: true });
});

test.each([
  ['notes.md', 'notes.md'],
  ['./notes.md', 'notes.md'],
  ['minutes/', 'minutes'],
  ['minutes//../notes.md', 'notes.md'],
  ['.', '.'],
  ['./', '.'],
  ['..notes', '..notes'],
  ['a b/ü.md', 'a b/ü.md'],
])('the path %j is taken as %j', (written, path) => {
  expect(toWorkspacePath(written)).toBe(path);
});

test.each([
  ['..', "'..' leads out of the workspace. Send a path relative to the workspace, without '..'."],
  ['../x', "'../x' leads out of the workspace. Send a path relative to the workspace, without '..'."],
  ['a/../../x', "'a/../../x' leads out of the workspace. Send a path relative to the workspace, without '..'."],
  ['../ws-evil/x', "'../ws-evil/x' leads out of the workspace. Send a path relative to the workspace, without '..'."],
  ['/etc/passwd', "'/etc/passwd' is an absolute path. Send a path relative to the workspace, for example 'notes.md'."],
  [
    '/proc/self/environ',
    "'/proc/self/environ' is an absolute path. Send a path relative to the workspace, for example 'notes.md'.",
  ],
  ['a\0b', "The path 'a\\u0000b' contains a NUL character. Send the path without it."],
  ['a\ud800', "The path 'a\\ud800' is not valid Unicode. Send it as valid Unicode text."],
  [
    'x'.repeat(5000),
    `The path '${'x'.repeat(79)}…' is too long (5000 characters). Send a path of fewer than 4096 bytes.`,
  ],
])('the path %j is refused with what to send instead', (written, message) => {
  expect(() => toWorkspacePath(written)).toThrow(expect.objectContaining({ name: 'RetryableToolError', message }));
});

test('a message shows no control character, line separator or direction mark of a path', () => {
  expect(quotePath('a\nb\u001b[31m\u2028\u202e\u0085')).toBe("'a\\u000ab\\u001b[31m\\u2028\\u202e\\u0085'");
});

test.each([
  ['EACCES', 'RetryableToolError', "The service has no permission for 'a.md'. Choose another path."],
  ['EPERM', 'RetryableToolError', "The service has no permission for 'a.md'. Choose another path."],
  ['EISDIR', 'RetryableToolError', "'a.md' is a directory, not a file. Choose the path of a file."],
  ['ENOSPC', 'TerminalToolError', "'a.md' was not written: the disk of the workspace is full."],
  ['EROFS', 'TerminalToolError', "'a.md' was not written: the workspace is read-only."],
  ['EMFILE', 'FileSystemError', "the file system answered EMFILE for 'a.md'."],
])('%s reaches the model as words without a host path', async (code, name, message) => {
  const cause = Object.assign(new Error(`${code}: open '/srv/ws/a.md'`), { code });
  const toMissing = () => new Error('unused');
  const told = explainFileErrors({ path: 'a.md', createMissingError: toMissing }, () => Promise.reject(cause));
  await expect(told).rejects.toThrow(expect.objectContaining({ name, message, cause }));
});

test('an error that is not of the file system passes through as it is', async () => {
  const thrown = new RangeError('a bug');
  const told = explainFileErrors({ path: 'a.md', createMissingError: () => new Error('unused') }, () =>
    Promise.reject(thrown),
  );
  await expect(told).rejects.toBe(thrown);
});

test('the root may move away: nothing is read from what takes its place', async () => {
  await using held = await createTemporaryWorkspace({ 'secret.txt': 'inside' });
  await rm(held.root, { recursive: true });
  await symlink(held.outside, held.root);
  await expect(runTool(createReadFile(held.workspace), { path: 'secret.txt' })).rejects.toThrow(
    "'secret.txt' is a symbolic link to a place outside the workspace. Choose a path inside the workspace.",
  );
});
