import { execFileSync } from 'node:child_process';
import { chmod, link, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { toRaceMs } from '@recourse/test-support/file-access.ts';
import { startLinkSwapper } from '@recourse/test-support/link-swapper.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { expect, test } from 'vitest';
import { createWriteFile } from '#src/write-file.ts';

const refused = (message: string) => expect.objectContaining({ name: 'RetryableToolError', message });

test('a new file is made with the directories on its way', async () => {
  await using held = await createTemporaryWorkspace();
  const written = await runTool(createWriteFile(held.workspace), { path: 'a/b/./c.md', content: 'Grüße\n' });
  expect(written).toEqual({ path: 'a/b/c.md', bytes: 8, created: true });
  expect(await readFile(join(held.root, 'a/b/c.md'), 'utf8')).toBe('Grüße\n');
});

test('an existing file is replaced as a whole and keeps its mode', async () => {
  await using held = await createTemporaryWorkspace({ 'run.sh': 'a long old content' });
  await chmod(join(held.root, 'run.sh'), 0o766);
  const written = await runTool(createWriteFile(held.workspace), { path: 'run.sh', content: '' });
  expect(written).toEqual({ path: 'run.sh', bytes: 0, created: false });
  expect(await readFile(join(held.root, 'run.sh'), 'utf8')).toBe('');
  expect((await stat(join(held.root, 'run.sh'))).mode & 0o777).toBe(0o766);
  expect(await readdir(held.root)).toEqual(['run.sh']);
});

test('the same call twice leaves the same file', async () => {
  await using held = await createTemporaryWorkspace();
  const writeFile = createWriteFile(held.workspace);
  expect(writeFile.effects).toBe('idempotent');
  await runTool(writeFile, { path: 'a.md', content: 'one' });
  await runTool(writeFile, { path: 'a.md', content: 'one' });
  expect(await readFile(join(held.root, 'a.md'), 'utf8')).toBe('one');
});

test('fifty writes of one file at once leave one of the contents, whole, and nothing else', async () => {
  await using held = await createTemporaryWorkspace();
  const writeFile = createWriteFile(held.workspace);
  const contents = Array.from({ length: 50 }, (_, index) => String(index).padStart(2, '0').repeat(50_000));
  await Promise.all(contents.map((content) => runTool(writeFile, { path: 'a/b/shared.md', content })));
  const left = await readFile(join(held.root, 'a/b/shared.md'), 'utf8');
  expect(contents.includes(left)).toBe(true);
  expect(await readdir(join(held.root, 'a/b'))).toEqual(['shared.md']);
});

test('a call that was cut off replaces nothing and leaves nothing behind', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'old' });
  const writing = runTool(createWriteFile(held.workspace), { path: 'a.md', content: 'new' }, AbortSignal.abort());
  await expect(writing).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(await readFile(join(held.root, 'a.md'), 'utf8')).toBe('old');
  expect(await readdir(held.root)).toEqual(['a.md']);
});

test('content up to 1 MiB is written, one byte more is refused with both figures', async () => {
  await using held = await createTemporaryWorkspace();
  const writeFile = createWriteFile(held.workspace);
  expect(await runTool(writeFile, { path: 'a.md', content: 'x'.repeat(1_048_576) })).toMatchObject({
    bytes: 1_048_576,
  });
  await expect(runTool(writeFile, { path: 'b.md', content: `é${'x'.repeat(1_048_575)}` })).rejects.toThrow(
    refused("The content for 'b.md' has 1048577 bytes; at most 1048576 can be written. Send less, or several files."),
  );
  expect(await readdir(held.root)).toEqual(['a.md']);
});

test('content with half a character is refused and not repaired', async () => {
  await using held = await createTemporaryWorkspace();
  await expect(runTool(createWriteFile(held.workspace), { path: 'a.md', content: 'a\ud83d' })).rejects.toThrow(
    refused(
      "The content for 'a.md' is not valid Unicode: it contains half a character (a lone surrogate). Send valid text.",
    ),
  );
});

test.each([
  ['.', "'.' is a directory. Send the path of a file in it."],
  ['minutes', "'minutes' is a directory. Send the path of a file in it."],
  ['pipe', "'pipe' is not a regular file. Choose another path."],
  ['protected.md', "'protected.md' is write-protected. Choose another path."],
  ['link.md', "'link.md' is a symbolic link. Send the path of its target."],
  ['dangling.md', "'dangling.md' is a symbolic link. Send the path of its target."],
  ['circle', "'circle' is a symbolic link. Send the path of its target."],
  [
    'protected.md/x.md',
    "A part of the path 'protected.md/x.md' is a file or a broken symbolic link, not a directory. Choose another path.",
  ],
  [
    'dangling-dir/x.md',
    "A part of the path 'dangling-dir/x.md' is a file or a broken symbolic link, not a directory. Choose another path.",
  ],
  ['circle/x.md', "'circle/x.md' is a loop of symbolic links. Choose another path."],
  ['out/x.md', "'out' is a symbolic link to a place outside the workspace. Choose a path inside the workspace."],
  ['out/new/x.md', "'out' is a symbolic link to a place outside the workspace. Choose a path inside the workspace."],
  [
    '../ws-evil/x.md',
    "'../ws-evil/x.md' leads out of the workspace. Send a path relative to the workspace, without '..'.",
  ],
  ['/tmp/x.md', "'/tmp/x.md' is an absolute path. Send a path relative to the workspace, for example 'notes.md'."],
  [`${'d/'.repeat(33)}x`, `The path '${'d/'.repeat(32)}d' has 33 levels; at most 32 are allowed. Send a shorter path.`],
])('writing to %j is refused, and nothing changes inside or outside', async (path, message) => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': '', 'protected.md': 'keep' });
  const at = (name: string): string => join(held.root, name);
  await chmod(at('protected.md'), 0o444);
  execFileSync('mkfifo', [at('pipe')]);
  await symlink(join(held.outside, 'secret.txt'), at('link.md'));
  await symlink(join(held.outside, 'new.md'), at('dangling.md'));
  await symlink(join(held.outside, 'new'), at('dangling-dir'));
  await symlink('circle', at('circle'));
  await symlink(held.outside, at('out'));
  const before = await readdir(held.root, { recursive: true });
  await expect(runTool(createWriteFile(held.workspace), { path, content: 'changed' })).rejects.toThrow(
    refused(message),
  );
  expect(await readdir(held.root, { recursive: true })).toEqual(before);
  expect(await readFile(at('protected.md'), 'utf8')).toBe('keep');
  expect(await readdir(held.outside)).toEqual(['secret.txt']);
  expect(await readFile(join(held.outside, 'secret.txt'), 'utf8')).toBe('the secret');
});

test('a name that no file system takes is refused', async () => {
  await using held = await createTemporaryWorkspace();
  await expect(runTool(createWriteFile(held.workspace), { path: 'x'.repeat(300), content: '' })).rejects.toThrow(
    refused(`The path '${'x'.repeat(79)}…' is too long. Send names of at most 255 bytes each.`),
  );
});

test('a directory reached through a link that stays inside is written to', async () => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': '' });
  await symlink('minutes', join(held.root, 'latest'));
  await runTool(createWriteFile(held.workspace), { path: 'latest/july.md', content: 'x' });
  expect(await readFile(join(held.root, 'minutes/july.md'), 'utf8')).toBe('x');
});

test('a hard link to a file outside is replaced, the file outside stays as it is', async () => {
  await using held = await createTemporaryWorkspace();
  await link(join(held.outside, 'secret.txt'), join(held.root, 'mine.txt'));
  await runTool(createWriteFile(held.workspace), { path: 'mine.txt', content: 'changed' });
  expect(await readFile(join(held.root, 'mine.txt'), 'utf8')).toBe('changed');
  expect(await readFile(join(held.outside, 'secret.txt'), 'utf8')).toBe('the secret');
});

test.each(['swapped/x.md', 'swapped/new/x.md'])(
  'a directory that becomes a link out while %s is written never lets anything out',
  async (path) => {
    await using held = await createTemporaryWorkspace({ 'minutes/june.md': '' });
    const name = join(held.root, 'swapped');
    await using _swapper = await startLinkSwapper({ name, good: 'minutes', evil: held.outside });
    const writeFile = createWriteFile(held.workspace);
    const seen = new Set<string>();
    const started = performance.now();
    // Under load one process may stand still for a second: go on until both sides of the race are met.
    const isOver = (): boolean => performance.now() - started > (seen.size < 2 ? 20_000 : toRaceMs(1500));
    while (!isOver()) {
      const writes = Array.from({ length: 8 }, () =>
        runTool(writeFile, { path, content: 'x' }).then(
          () => 'written',
          (thrown: unknown) => (thrown instanceof Error ? thrown.name : 'no error'),
        ),
      );
      for (const end of await Promise.all(writes)) seen.add(end);
    }
    expect(await readdir(held.outside)).toEqual(['secret.txt']);
    // Both sides of the race were met, and nothing else.
    expect([...seen].sort()).toEqual(['RetryableToolError', 'written']);
  },
);
