import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { link, mkdir, symlink, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { INDEX_LIMITS, openNoteIndex } from '../../../../src/tools/builtin/notes/indexing/note-index.ts';
import { WALK_LIMITS, walkNotes } from '../../../../src/tools/builtin/notes/indexing/walk-notes.ts';
import { startLinkSwapper } from '../../../support/link-swapper.ts';
import { pathsOf, startNotesLab } from '../../../support/notes-lab.ts';

test('links that lead out, hard links, FIFOs, sockets and folders are no notes', async () => {
  await using lab = await startNotesLab({ 'a.md': 'the word' });
  await symlink(join(lab.outside, 'secret.md'), lab.at('out.md'));
  await symlink(lab.outside, lab.at('linked'));
  await symlink('/dev/zero', lab.at('device.md'));
  await symlink('circle.md', lab.at('circle.md'));
  await symlink('.', lab.at('self'));
  await link(join(lab.outside, 'secret.md'), lab.at('hard.md'));
  await mkdir(lab.at('folder.md'));
  execFileSync('mkfifo', [lab.at('pipe.md')]);
  const server = createServer().listen(lab.at('socket.md'));
  await once(server, 'listening');
  await lab.write('b.md', 'the word');
  // The second note was written last: once it is found, all of them have been looked at.
  await expect.poll(async () => (await lab.find('word')).toSorted(), { timeout: 15_000 }).toEqual(['a.md', 'b.md']);
  expect(pathsOf(await lab.call('list_notes')).toSorted()).toEqual(['a.md', 'b.md']);
  expect(await lab.find('xyzzy')).toEqual([]);
  for (const path of ['out.md', 'linked/secret.md', 'hard.md', 'pipe.md', 'socket.md', 'device.md', 'folder.md'])
    await expect(lab.call('read_note', { path })).rejects.toThrow(
      expect.objectContaining({
        name: 'RetryableToolError',
        message: expect.stringContaining(`There is no note '${path}'.`),
      }),
    );
  await expect(lab.call('list_notes', { folder: 'linked' })).rejects.toThrow(
    "There is no folder 'linked' among the notes.",
  );
  server.close();
});

test('a note that becomes a link out again and again is never found with what lies outside', async () => {
  await using lab = await startNotesLab({ 'good.md': 'inside plugh' });
  await using _swapper = await startLinkSwapper({
    name: lab.at('swapped.md'),
    good: 'good.md',
    evil: join(lab.outside, 'secret.md'),
  });
  const seen = new Set<string>();
  const started = performance.now();
  while (performance.now() - started < 3000) {
    expect(await lab.find('xyzzy')).toEqual([]);
    const read = lab.call('read_note', { path: 'swapped.md' });
    seen.add(JSON.stringify(await read.catch((thrown: unknown) => String(thrown))));
  }
  expect([...seen].filter((text) => text.includes('xyzzy'))).toEqual([]);
});

test('a folder that becomes a link out while it is looked through gives nothing of what lies outside', async () => {
  await using lab = await startNotesLab({ 'a.md': 'inside', 'folder/secret.md': 'inside' });
  let looked = 0;
  let isSwapped = false;
  const pace = {
    // The root has two names; the third is looked at in the folder, whose names have been read.
    isDue: () => true,
    rest: async () => {
      looked += 1;
      if (looked !== 3) return;
      renameSync(lab.at('folder'), lab.at('.moved'));
      symlinkSync(lab.outside, lab.at('folder'));
      isSwapped = true;
    },
  };
  const index = openNoteIndex(lab.root, {
    limits: INDEX_LIMITS,
    pace,
    observer: { progress: () => undefined, notice: () => undefined },
  });
  await index.update();
  expect(isSwapped).toBe(true);
  expect(index.database.list({ folder: '.', offset: 0, limit: 10 }).map(({ path }) => path)).toEqual(['a.md']);
  const secret = { terms: [{ text: 'xyzzy', isPrefix: false }], wantsAny: false };
  expect(index.database.search(secret, { folder: '.', offset: 0, limit: 10 }).rows).toEqual([]);
  expect(index.textOf('folder/secret.md')).toBe('');
  index.close();
});

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
    "'binary.md' is binary, not a text. Choose another note.",
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
  expect(await walkNotes(lab.root, { limits: { ...WALK_LIMITS, ...limits }, pace, tell })).toBe(false);
  expect(found.length).toBeLessThanOrEqual(most);
  expect(await walkNotes(lab.root, { limits: WALK_LIMITS, pace, tell: () => undefined })).toBe(true);
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
  const display = 'Some notes are not indexed, and no list or search shows them.';
  await expect
    .poll(async () => lab.call('search_notes', { query: 'word' }), { timeout: 15_000 })
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
