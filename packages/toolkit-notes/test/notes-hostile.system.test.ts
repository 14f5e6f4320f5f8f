import { mkdirSync, writeFileSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { fileAccess } from '@recourse/test-support/file-access.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { WALK_LIMITS, walkNotes } from '#src/indexing/note-index.ts';
import { startNotesLab } from './notes-lab.ts';

test('hidden folders, node_modules and other files are left out', async () => {
  await using lab = await startNotesLab({
    'a.md': 'word',
    '.git/b.md': 'word',
    '.obsidian/c.md': 'word',
    'node_modules/d.md': 'word',
    'e.txt': 'word',
    '.f.md': 'word',
  });
  expect(await lab.find('word')).toEqual(['a.md']);
});

test('a binary note is left out, broken UTF-8 is read with what is readable of it', async () => {
  await using lab = await startNotesLab({
    'binary.md': Buffer.from('word\0word'),
    'latin.md': Buffer.from('word Gr\u00fc\u00dfe', 'latin1'),
    'bom.md': Buffer.from('\ufeff# Word'),
  });
  expect((await lab.find('word')).toSorted()).toEqual(['bom.md', 'latin.md']);
  expect(await lab.call('read_note', { path: 'latin.md' })).toMatchObject({ content: 'word Gr\ufffd\ufffde' });
  expect(await lab.call('read_note', { path: 'bom.md' })).toMatchObject({ content: '# Word' });
  await expect(lab.call('read_note', { path: 'binary.md' })).rejects.toThrow(
    "'binary.md' is binary, not text. Choose another note.",
  );
});

test('of a note of 50 GB the beginning is searched', async () => {
  await using lab = await startNotesLab({ 'huge.md': `word ${'x '.repeat(200_000)} beyond` });
  await truncate(lab.at('huge.md'), 50_000_000_000);
  expect(await lab.find('word')).toEqual(['huge.md']);
  expect(await lab.find('beyond')).toEqual([]);
});

test.each([
  ['notes', { maxNotes: 3 }, 3],
  ['names', { maxEntries: 5 }, 5],
  ['folders in one another', { maxDepth: 0 }, 8],
])('a walk ends at the limit of %s and says so', async (_what, limits, most) => {
  await using lab = await startNotesLab({
    ...Object.fromEntries(Array.from({ length: 8 }, (_, number) => [`${number}.md`, ''])),
    'deep/er/x.md': '',
  });
  const found: string[] = [];
  const pace = { isDue: () => false, rest: async () => undefined };
  const tell = ({ path }: { readonly path: string }) => void found.push(path);
  expect(
    await walkNotes({ root: lab.root, access: fileAccess() }, { limits: { ...WALK_LIMITS, ...limits }, pace, tell }),
  ).toBe(false);
  expect(found.length).toBeLessThanOrEqual(most);
  expect(
    await walkNotes({ root: lab.root, access: fileAccess() }, { limits: WALK_LIMITS, pace, tell: () => undefined }),
  ).toBe(true);
});

test.each([
  ['notes', 'gr\u00fcn.md'],
  ['folders', 'gr\u00fcn/b.md'],
])('%s whose names are not UTF-8 are left out, and every list says that some are', async (_what, name) => {
  await using lab = await startNotesLab({ 'a.md': 'word' });
  const path = Buffer.concat([Buffer.from(`${lab.root}/`), Buffer.from(name, 'latin1')]);
  const folder = path.subarray(0, path.lastIndexOf('/'));
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, 'word');
  const display = 'Some notes are not indexed and are missing from lists and searches.';
  await expect
    .poll(async () => lab.call('search_notes', { query: 'word' }), { timeout: timeLimit(15_000) })
    .toMatchObject({ display: `1 note found. ${display}`, count: 1 });
  expect(await lab.call('list_notes')).toMatchObject({ display: `1 note found. ${display}` });
  expect(await lab.run('search_notes', { query: 'other' })).toMatchObject({
    message: `No notes found. ${display}`,
    value: { display: `No notes found. ${display}` },
  });
});

test('notes of nothing but the word that is looked for are found as fast as others', async () => {
  const text = 'word '.repeat(52_000);
  await using lab = await startNotesLab(
    Object.fromEntries(Array.from({ length: 10 }, (_, number) => [`${number}.md`, text])),
  );
  expect(await lab.find('word the of and')).toHaveLength(10);
  expect(await lab.find(`"${'word '.repeat(60)}"`)).toHaveLength(10);
});

test('names that forge lines are told as they are and shown escaped', async () => {
  await using lab = await startNotesLab({ 'a\nb.md': 'word' });
  expect(await lab.find('word')).toEqual(['a\nb.md']);
  await expect(lab.call('read_note', { path: 'a\nc.md' })).rejects.toThrow(
    "There is no note 'a\\u000ac.md'. Did you mean 'a\\u000ab.md'?",
  );
});
