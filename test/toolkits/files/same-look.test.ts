import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createListFiles } from '../../../src/toolkits/files/list-files.ts';
import { createReadFile } from '../../../src/toolkits/files/read-file.ts';
import { createSearchFiles } from '../../../src/toolkits/files/search-files.ts';
import { createWriteFile } from '../../../src/toolkits/files/write-file.ts';
import { createFileSearch } from '../../../src/workspace/search-thread.ts';
import { runTool } from '../../support/run-tool.ts';
import { createTemporaryWorkspace } from '../../support/temporary-workspace.ts';

const SCREENSHOT = 'Screenshot 9.41.07\u202fAM.txt';

test.each([
  ['a narrow no-break space', SCREENSHOT, 'Screenshot 9.41.07 AM.txt'],
  ['a no-break space', 'a\u00a0b.md', 'a b.md'],
  ['a decomposed letter', 'cafe\u0301.md', 'caf\u00e9.md'],
  ['a composed letter', 'caf\u00e9.md', 'cafe\u0301.md'],
  ['a letter of full width', '\uff21.md', 'A.md'],
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

test('what only resembles a name is not taken for it', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': '' });
  for (const path of ['Notes.md', 'note.md', '\u2025/notes.md'])
    await expect(runTool(createReadFile(held.workspace), { path })).rejects.toMatchObject({
      name: 'FileNotFoundError',
    });
});
