import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { createFileSearch } from '@recourse/toolkit-kit/workspace/search-thread';
import { expect, onTestFinished, test } from 'vitest';
import { createListFiles } from '#src/list-files.ts';
import { createReadFile } from '#src/read-file.ts';
import { createSearchFiles } from '#src/search-files.ts';
import { createWriteFile } from '#src/write-file.ts';

const SCREENSHOT = 'Screenshot 9.41.07\u202fAM.txt';

test.each([
  ['a narrow no-break space', SCREENSHOT, 'Screenshot 9.41.07 AM.txt'],
  ['a no-break space', 'a\u00a0b.md', 'a b.md'],
  ['a decomposed letter', 'cafe\u0301.md', 'caf\u00e9.md'],
  ['a composed letter', 'caf\u00e9.md', 'cafe\u0301.md'],
  ['an invisible mark', '\u200ephoto.txt', 'photo.txt'],
  ['a directory on the way', 'Mo\u0308bel/Liste\u00a01.md', 'M\u00f6bel/Liste 1.md'],
])('a file is read by a path of the same look: %s', async (_name, real, asked) => {
  await using held = await createTemporaryWorkspace({ [real]: 'its text', 'other.md': '' });
  const { workspace } = held;
  expect(await runTool(createReadFile(workspace), { path: asked })).toEqual({ path: real, content: 'its text' });
  const files = createFileSearch();
  onTestFinished(() => files.close());
  expect(await runTool(createSearchFiles(workspace, { files }), { path: asked, query: 'text' })).toMatchObject({
    matches: [{ path: real, line: 1 }],
  });
  // Written to, it stays one file.
  expect(await runTool(createWriteFile(workspace), { path: asked, content: 'new' })).toEqual({
    path: real,
    bytes: 3,
    created: false,
  });
  expect(await runTool(createReadFile(workspace), { path: real })).toEqual({ path: real, content: 'new' });
});

test('a directory is listed, and a new file made in it, by a path of the same look', async () => {
  await using held = await createTemporaryWorkspace({ 'Mo\u0308bel/a.md': '' });
  const { workspace } = held;
  expect(await runTool(createListFiles(workspace), { path: 'M\u00f6bel' })).toMatchObject({
    path: 'Mo\u0308bel',
    entries: [{ name: 'a.md' }],
  });
  expect(await runTool(createWriteFile(workspace), { path: 'M\u00f6bel/b.md', content: '' })).toMatchObject({
    path: 'Mo\u0308bel/b.md',
    created: true,
  });
  expect(await readdir(workspace.root)).toEqual(['Mo\u0308bel']);
  expect((await readdir(join(workspace.root, 'Mo\u0308bel'))).sort()).toEqual(['a.md', 'b.md']);
});

test('the exact name wins; of several others of the same look the answer says how they differ', async () => {
  await using held = await createTemporaryWorkspace({ 'a\u00a0b.md': 'one', 'a\u202fb.md': 'two' });
  const { workspace } = held;
  const message =
    '\'a b.md\' is ambiguous: 2 names look like \'a b.md\'. As JSON texts they are "a\\u00a0b.md", "a\\u202fb.md". Send one of them exactly.';
  const refused = expect.objectContaining({ name: 'RetryableToolError', message });
  await expect(runTool(createReadFile(workspace), { path: 'a b.md' })).rejects.toEqual(refused);
  await expect(runTool(createWriteFile(workspace), { path: 'a b.md', content: '' })).rejects.toEqual(refused);
  expect(await runTool(createReadFile(workspace), { path: 'a\u202fb.md' })).toMatchObject({ content: 'two' });
  expect(await readdir(workspace.root)).toHaveLength(2);
});

test.each([
  ['CO\u2082.md', 'CO2.md'],
  ['10 m\u00b2.md', '10 m2.md'],
  ['\u00bd cup.md', '1\u20442 cup.md'],
  ['Chapter \u2163.md', 'Chapter IV.md'],
  ['\uff21.md', 'A.md'],
  ['\ufb01le.md', 'file.md'],
  ['CO\u2082/notes.md', 'CO2/notes.md'],
])('%s is read as %s where that does not exist, and not replaced by a write to it', async (real, asked) => {
  await using held = await createTemporaryWorkspace({ [real]: 'its text' });
  const { workspace } = held;
  expect(await runTool(createReadFile(workspace), { path: asked })).toEqual({ path: real, content: 'its text' });
  expect(await runTool(createWriteFile(workspace), { path: asked, content: 'new' })).toEqual({
    path: asked,
    bytes: 3,
    created: true,
  });
  expect(await runTool(createReadFile(workspace), { path: real })).toEqual({ path: real, content: 'its text' });
  expect(await runTool(createReadFile(workspace), { path: asked })).toEqual({ path: asked, content: 'new' });
});

test('the exact name wins also in a directory of more names than are looked at', async () => {
  const pairs = Array.from({ length: 1500 }, (_, at) => [`a ${at}.md`, `a\u00a0${at}.md`]);
  await using held = await createTemporaryWorkspace(Object.fromEntries(pairs.flat().map((name) => [name, 'old'])));
  const write = createWriteFile(held.workspace);
  // Which names are looked at is up to the file system: of so many pairs some are looked at in half.
  for (const [exact = '', alike = ''] of pairs.slice(0, 20)) {
    expect(await runTool(write, { path: exact, content: 'new' })).toMatchObject({ path: exact, created: false });
    expect(await readFile(join(held.workspace.root, alike), 'utf8')).toBe('old');
  }
});

test('what only resembles a name is not taken for it', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': '' });
  for (const path of ['Notes.md', 'note.md', '\u2025/notes.md'])
    await expect(runTool(createReadFile(held.workspace), { path })).rejects.toMatchObject({
      name: 'FileNotFoundError',
    });
});
