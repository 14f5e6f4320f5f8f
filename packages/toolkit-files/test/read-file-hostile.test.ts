import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { link, readdir, symlink, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { toRaceMs } from '@recourse/test-support/file-access.ts';
import { startLinkSwapper } from '@recourse/test-support/link-swapper.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { expect, test } from 'vitest';
import { createReadFile } from '#src/read-file.ts';

const refused = (message: string) => expect.objectContaining({ name: 'RetryableToolError', message });

test('a file of 50 GB is read a part at a time, and its holes are refused as binary', async () => {
  await using held = await createTemporaryWorkspace({ 'huge.log': 'line\n'.repeat(20_000) });
  await truncate(join(held.root, 'huge.log'), 50_000_000_000);
  const readFile = createReadFile(held.workspace);
  expect(await runTool(readFile, { path: 'huge.log', limit: 5 })).toEqual({
    path: 'huge.log',
    content: 'line\n',
    truncated: true,
    next_offset: 5,
    total_bytes: 50_000_000_000,
  });
  await expect(runTool(readFile, { path: 'huge.log', offset: 49_999_999_000, limit: 131_072 })).rejects.toThrow(
    refused("'huge.log' is binary, or not UTF-8 text. Choose a text file."),
  );
});

test.each([
  ['NUL bytes', Buffer.from('ab\0cd')],
  ['Latin-1', Buffer.from('Gr\u00fc\u00dfe', 'latin1')],
  ['half a character at the end', Buffer.from([0x61, 0xe4, 0xb8])],
  ['UTF-16', Buffer.from('hello', 'utf16le')],
])('a file with %s is refused and not repaired', async (_what, bytes) => {
  await using held = await createTemporaryWorkspace({ 'data.bin': bytes });
  await expect(runTool(createReadFile(held.workspace), { path: 'data.bin' })).rejects.toThrow(
    refused("'data.bin' is binary, or not UTF-8 text. Choose a text file."),
  );
});

test('a directory is refused', async () => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': '' });
  await expect(runTool(createReadFile(held.workspace), { path: 'minutes' })).rejects.toThrow(
    refused("'minutes' is a directory, not a file. Choose the path of a regular file."),
  );
});

test('eight reads of a FIFO are refused at once and leave the file system free', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'hello' });
  execFileSync('mkfifo', [join(held.root, 'pipe')]);
  const readFile = createReadFile(held.workspace);
  const reads = Array.from({ length: 8 }, () => runTool(readFile, { path: 'pipe' }));
  for (const read of await Promise.allSettled(reads))
    expect(read).toMatchObject({
      reason: { message: "'pipe' is a FIFO, not a regular file. Choose the path of a regular file." },
    });
  expect(await runTool(readFile, { path: 'notes.md' })).toEqual({ path: 'notes.md', content: 'hello' });
});

test('a socket is refused', async () => {
  await using held = await createTemporaryWorkspace();
  const server = createServer().listen(join(held.root, 'socket'));
  await once(server, 'listening');
  await expect(runTool(createReadFile(held.workspace), { path: 'socket' })).rejects.toThrow(
    refused("'socket' is a socket, not a regular file. Choose the path of a regular file."),
  );
  server.close();
});

test('a hard link to a file outside is refused', async () => {
  await using held = await createTemporaryWorkspace();
  await link(join(held.outside, 'secret.txt'), join(held.root, 'mine.txt'));
  await expect(runTool(createReadFile(held.workspace), { path: 'mine.txt' })).rejects.toThrow(
    refused(
      "'mine.txt' is a hard link that may belong to a file outside the workspace. Choose the path of a regular file.",
    ),
  );
});

test('symbolic links are followed as long as they end inside', async () => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': 'sunny' });
  await symlink('minutes', join(held.root, 'by-month'));
  await symlink('../minutes/june.md', join(held.root, 'minutes', 'latest.md'));
  const readFile = createReadFile(held.workspace);
  expect(await runTool(readFile, { path: 'by-month/latest.md' })).toEqual({
    path: 'by-month/latest.md',
    content: 'sunny',
  });
});

test.each([
  ['file.txt', 'file.txt'],
  ['relative.txt', 'relative.txt'],
  ['dir/secret.txt', 'dir/secret.txt'],
  ['dir/no-such-file.txt', 'dir'],
  ['dir/no/such/file.txt', 'dir'],
  ['environ', 'environ'],
  ['null', 'null'],
  ['root', 'root'],
])('the symbolic link %s that leads out is refused, and nothing tells what is there', async (path, named) => {
  await using held = await createTemporaryWorkspace();
  const at = (name: string): string => join(held.root, name);
  await symlink(join(held.outside, 'secret.txt'), at('file.txt'));
  await symlink('../ws-evil/secret.txt', at('relative.txt'));
  await symlink(held.outside, at('dir'));
  await symlink('/proc/self/environ', at('environ'));
  await symlink('/dev/null', at('null'));
  await symlink('/proc/self/root', at('root'));
  await expect(runTool(createReadFile(held.workspace), { path })).rejects.toThrow(
    refused(`'${named}' is a symbolic link to a place outside the workspace. Choose a path inside the workspace.`),
  );
});

test('a dangling symbolic link is a missing file, a circle is refused', async () => {
  await using held = await createTemporaryWorkspace();
  await symlink('nowhere', join(held.root, 'dangling'));
  await symlink('circle', join(held.root, 'circle'));
  const readFile = createReadFile(held.workspace);
  await expect(runTool(readFile, { path: 'dangling' })).rejects.toThrow(
    "there is no file 'dangling' in the workspace.",
  );
  await expect(runTool(readFile, { path: 'circle' })).rejects.toThrow(
    refused("'circle' is a loop of symbolic links. Choose another path."),
  );
});

test('a name that no file system takes is refused', async () => {
  await using held = await createTemporaryWorkspace();
  await expect(runTool(createReadFile(held.workspace), { path: 'x'.repeat(300) })).rejects.toThrow(
    refused(`The path '${'x'.repeat(79)}…' is too long. Send names of at most 255 bytes each.`),
  );
});

test('a path of two thousand missing directories is answered at once', async () => {
  await using held = await createTemporaryWorkspace();
  await expect(runTool(createReadFile(held.workspace), { path: 'a/'.repeat(2000) })).rejects.toThrow(
    `there is no file '${'a/'.repeat(39)}a…' in the workspace.`,
  );
});

test.each([
  ['a file', 'swapped', 'notes.md', 'secret.txt'],
  ['a directory on the way', 'swapped/secret.txt', 'minutes', ''],
])('%s that becomes a link out during the call never gives the secret', async (_what, path, good, evil) => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'inside', 'minutes/secret.txt': 'inside' });
  await using _swapper = await startLinkSwapper({
    name: join(held.root, 'swapped'),
    good,
    evil: join(held.outside, evil),
  });
  const readFile = createReadFile(held.workspace);
  const seen = new Set<string>();
  const started = performance.now();
  // Under load one process may stand still for a second: go on until both sides of the race are met.
  const isOver = (): boolean => performance.now() - started > (seen.size < 2 ? 20_000 : toRaceMs(1500));
  while (!isOver()) {
    const reads = Array.from({ length: 8 }, () =>
      runTool(readFile, { path }).then(
        (value) => JSON.stringify(value),
        (thrown: unknown) => (thrown instanceof Error ? thrown.name : 'no error'),
      ),
    );
    // A link that is replaced while the kernel follows it may read as empty: that is "not found", and rare.
    for (const end of await Promise.all(reads)) if (end !== 'FileNotFoundError') seen.add(end);
  }
  // Both sides of the race were met, and nothing else.
  expect([...seen].sort()).toEqual(['RetryableToolError', JSON.stringify({ path, content: 'inside' })]);
});

test('two hundred good and failed calls leave no file open', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'hello' });
  await symlink(held.outside, join(held.root, 'dir'));
  const readFile = createReadFile(held.workspace);
  const before = (await readdir('/proc/self/fd')).length;
  for (let round = 0; round < 50; round += 1)
    await Promise.allSettled(['notes.md', 'note.md', 'dir/x', '.'].map((path) => runTool(readFile, { path })));
  expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before + 4);
});
