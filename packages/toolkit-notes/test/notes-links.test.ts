import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, symlinkSync } from 'node:fs';
import { link, mkdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileAccess, toRaceMs } from '@recourse/test-support/file-access.ts';
import { startLinkSwapper } from '@recourse/test-support/link-swapper.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { INDEX_LIMITS, openNoteIndex } from '#src/indexing/note-index.ts';
import { pathsOf, startNotesLab } from './notes-lab.ts';

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
  await expect
    .poll(async () => (await lab.find('word')).toSorted(), { timeout: timeLimit(15_000) })
    .toEqual(['a.md', 'b.md']);
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
    "There is no folder 'linked' in the notes.",
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
  while (performance.now() - started < toRaceMs(3000)) {
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
  const index = openNoteIndex(
    { root: lab.root, access: fileAccess() },
    {
      limits: INDEX_LIMITS,
      pace,
      report: () => undefined,
    },
  );
  await index.update();
  expect(isSwapped).toBe(true);
  expect(index.database.list({ folder: '.', offset: 0, limit: 10 }).map(({ path }) => path)).toEqual(['a.md']);
  const secret = { terms: [{ text: 'xyzzy', isPrefix: false }], wantsAny: false };
  expect(index.database.search(secret, { folder: '.', offset: 0, limit: 10 }).rows).toEqual([]);
  expect(index.textOf('folder/secret.md')).toBe('');
  index.close();
});
