import { execFileSync } from 'node:child_process';
import { linkSync } from 'node:fs';
import { link, mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createListFiles } from '#src/list-files.ts';

const Listing = z.object({ entries: z.array(z.object({ name: z.string() })), next_after: z.string().optional() });

test('the root is listed by name with type and size', async () => {
  await using held = await createTemporaryWorkspace({
    'b.md': 'four',
    'a.txt': '',
    'minutes/june.md': 'x',
    'Z.md': 'x',
  });
  await symlink('b.md', join(held.root, 'link.md'));
  await symlink(held.outside, join(held.root, 'out'));
  execFileSync('mkfifo', [join(held.root, 'pipe')]);
  expect(await runTool(createListFiles(held.workspace))).toEqual({
    path: '.',
    entries: [
      { name: 'Z.md', type: 'file', size: 1 },
      { name: 'a.txt', type: 'file', size: 0 },
      { name: 'b.md', type: 'file', size: 4 },
      { name: 'link.md', type: 'symlink', size: null },
      { name: 'minutes', type: 'directory', size: null },
      { name: 'out', type: 'symlink', size: null },
      { name: 'pipe', type: 'other', size: null },
    ],
    count: 7,
  });
});

test('a subdirectory is listed, also through a link that stays inside', async () => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': 'x' });
  await symlink('minutes', join(held.root, 'latest'));
  const entries = [{ name: 'june.md', type: 'file', size: 1 }];
  const listFiles = createListFiles(held.workspace);
  expect(await runTool(listFiles, { path: 'minutes/' })).toEqual({ path: 'minutes', entries, count: 1 });
  expect(await runTool(listFiles, { path: 'latest' })).toEqual({ path: 'latest', entries, count: 1 });
});

test('an empty directory is an empty success', async () => {
  await using held = await createTemporaryWorkspace();
  expect(await runTool(createListFiles(held.workspace))).toMatchObject({
    message: 'The directory is empty.',
    value: { path: '.', entries: [], count: 0 },
  });
});

test('the file that a write has under way is not listed, a file of nearly its name is', async () => {
  await using held = await createTemporaryWorkspace({
    '.recourse-0b7e1d3c-5a52-4c67-9a36-1f0d3f1c2b4a.tmp': 'half',
    '.recourse-notes.tmp': 'mine',
  });
  expect(await runTool(createListFiles(held.workspace))).toMatchObject({
    entries: [{ name: '.recourse-notes.tmp', type: 'file', size: 4 }],
  });
});

test('a long directory comes in pages that together are the directory', async () => {
  const names = Array.from({ length: 1203 }, (_, index) => `file-${String(index).padStart(5, '0')}.txt`);
  await using held = await createTemporaryWorkspace(Object.fromEntries(names.map((name) => [name, ''])));
  const listFiles = createListFiles(held.workspace);
  const first = await runTool(listFiles);
  expect(first).toMatchObject({ count: 500, truncated: true, next_after: 'file-00499.txt' });
  const second = await runTool(listFiles, { after: 'file-00499.txt' });
  expect(second).toMatchObject({ count: 500, truncated: true, next_after: 'file-00999.txt' });
  const third = await runTool(listFiles, { after: 'file-00999.txt' });
  expect(third).toMatchObject({ count: 203 });
  expect(third).not.toHaveProperty('truncated');
  const listed = [first, second, third].flatMap((page) => Listing.parse(page).entries.map(({ name }) => name));
  expect(listed).toEqual(names);
  expect(await runTool(listFiles, { after: 'file-99999.txt' })).toMatchObject({ message: 'No further entries.' });
});

test('a directory of thirty thousand entries is answered in time, each page with the names that follow', async () => {
  await using held = await createTemporaryWorkspace();
  // Hard links, because thirty thousand files of their own take the disk half a minute.
  await writeFile(join(held.outside, 'one'), '');
  for (let index = 10_000; index < 40_000; index += 1)
    linkSync(join(held.outside, 'one'), join(held.root, `many-${index}`));
  const listFiles = createListFiles(held.workspace);
  const started = performance.now();
  expect(await runTool(listFiles)).toMatchObject({ count: 500, truncated: true, next_after: 'many-10499' });
  expect(await runTool(listFiles, { after: 'many-29999' })).toMatchObject({ next_after: 'many-30499' });
  const last = await runTool(listFiles, { after: 'many-39499' });
  expect(last).toMatchObject({ count: 500 });
  expect(last).not.toHaveProperty('truncated');
  expect(performance.now() - started).toBeLessThan(timeLimit(2000));
});

test('a directory of more entries than are looked at says that it is not whole', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': '', 'b.md': '', 'c.md': '' });
  expect(await runTool(createListFiles(held.workspace, 2))).toMatchObject({
    message: 'Only 2 entries were read; the directory contains more.',
    value: { count: 2, truncated: true },
  });
  expect(await runTool(createListFiles(held.workspace, 3))).toMatchObject({ count: 3 });
});

test('an aborted call stops', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': '' });
  const listing = runTool(createListFiles(held.workspace), {}, AbortSignal.abort());
  await expect(listing).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});

test('sizes are told for huge files and hard links, which are only looked at', async () => {
  await using held = await createTemporaryWorkspace({ 'huge.log': '' });
  await truncate(join(held.root, 'huge.log'), 50_000_000_000);
  await link(join(held.outside, 'secret.txt'), join(held.root, 'linked.txt'));
  expect(await runTool(createListFiles(held.workspace))).toMatchObject({
    entries: [
      { name: 'huge.log', type: 'file', size: 50_000_000_000 },
      { name: 'linked.txt', type: 'file', size: 10 },
    ],
  });
});

test('a missing directory names the near one', async () => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': '', minute: '' });
  await mkdir(join(held.root, 'archive'));
  const listFiles = createListFiles(held.workspace);
  await expect(runTool(listFiles, { path: 'minuts' })).rejects.toThrow(
    expect.objectContaining({
      name: 'FileNotFoundError',
      message: "there is no directory 'minuts' in the workspace. Did you mean 'minutes'?",
      hint: 'Call list_files with the path "." to list the workspace.',
    }),
  );
  await expect(runTool(listFiles, { path: 'old/archive' })).rejects.toThrow(
    "there is no directory 'old/archive' in the workspace. Did you mean 'archive'?",
  );
});

test('a file is refused', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': '' });
  await expect(runTool(createListFiles(held.workspace), { path: 'a.md' })).rejects.toThrow(
    "'a.md' is not a directory. Call read_file to read a file, or send the path of a directory.",
  );
});

test.each(['../ws-evil', '/', 'out', 'out/deeper'])('the directory %j outside is refused', async (path) => {
  await using held = await createTemporaryWorkspace();
  await mkdir(join(held.outside, 'deeper'));
  await writeFile(join(held.outside, 'deeper', 'x'), '');
  await symlink(held.outside, join(held.root, 'out'));
  await expect(runTool(createListFiles(held.workspace), { path })).rejects.toThrow(
    expect.objectContaining({ name: 'RetryableToolError' }),
  );
});
