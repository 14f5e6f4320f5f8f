import { readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileAccess, useFileAccess } from '@recourse/test-support/file-access.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { expect, test } from 'vitest';
import { pin, readBeginning } from '#src/workspace/pin.ts';
import type { Place } from '#src/workspace/place.ts';
import { withPlace } from '#src/workspace/place.ts';
import { createWorkspace } from '#src/workspace/workspace.ts';

// What the portable implementation sees of changes at the worst moment: between two of its own steps.
useFileAccess('paths');

const open = () => createTemporaryWorkspace({ 'd/secret.txt': 'inside', 'd/other.txt': 'other' });
type Held = Awaited<ReturnType<typeof open>>;

const swapDirectory = async ({ root, outside }: Held): Promise<void> => {
  await rename(join(root, 'd'), join(root, 'aside'));
  await symlink(outside, join(root, 'd'));
};
const swapFile = async ({ root, outside }: Held): Promise<void> => {
  await rm(join(root, 'd/secret.txt'));
  await symlink(join(outside, 'secret.txt'), join(root, 'd/secret.txt'));
};
const replaceFile = ({ root }: Held): Promise<void> => rename(join(root, 'd/other.txt'), join(root, 'd/secret.txt'));

const read = async (place: Place): Promise<string> => {
  await using file = await place.openFile();
  return file.readFile('utf8');
};

test.each([
  ['a directory on its way by a link out', swapDirectory],
  ['itself by a link out', swapFile],
  ['itself by another file', replaceFile],
])('a file is not read where a process replaced %s before it was opened', async (_what, swap) => {
  await using held = await open();
  const reading = withPlace(held.workspace, 'd/secret.txt', async (place) => {
    await swap(held);
    return read(place);
  });
  await expect(reading).rejects.toThrow("'d/secret.txt' was moved or replaced during the call. Call again.");
});

test('a file that another call replaces while it is read is read to its end', async () => {
  await using held = await open();
  const reading = withPlace(held.workspace, 'd/secret.txt', async (place) => {
    await using file = await place.openFile();
    await replaceFile(held);
    return file.readFile('utf8');
  });
  expect(await reading).toBe('inside');
});

test('a directory that became a link out is neither listed nor written to', async () => {
  await using held = await open();
  const listing = withPlace(held.workspace, 'd', async (place) => {
    await swapDirectory(held);
    return readdir(place.link);
  });
  await expect(listing).rejects.toThrow("'d' was moved or replaced during the call. Call again.");
  await using second = await open();
  const writing = withPlace(second.workspace, 'd', async (place) => {
    await swapDirectory(second);
    await using file = await place.createFile('new.txt');
    return file.writeFile('owned');
  });
  await expect(writing).rejects.toThrow("'d' was moved or replaced during the call. Call again.");
  // The name is made before the check, its content is not.
  expect(await readdir(second.outside)).toEqual(['new.txt', 'secret.txt']);
  expect(await readFile(join(second.outside, 'new.txt'), 'utf8')).toBe('');
});

test('a pinned file or directory gives nothing once something else stands in its place', async () => {
  await using held = await open();
  const file = pin(held.workspace, 'd/secret.txt', 'any');
  const directory = pin(held.workspace, 'd', 'directory');
  if (file === undefined || directory === undefined) throw new Error('Nothing was pinned.');
  expect(readBeginning(file, 6)?.toString()).toBe('inside');
  await replaceFile(held);
  expect(readBeginning(file, 6)).toBeUndefined();
  await swapDirectory(held);
  expect(() => directory.openEntry('secret.txt')).toThrow('The file was replaced.');
  expect(directory.isSame()).toBe(false);
  expect(pin(held.workspace, 'd', 'directory')).toBeUndefined();
  await writeFile(join(held.root, 'plain.txt'), '');
  expect(pin(held.workspace, 'plain.txt', 'directory')).toBeUndefined();
});

test('a directory is pinned below a link that stays inside, and not by a link', async () => {
  await using held = await createTemporaryWorkspace({ 'd/inner/a.txt': 'inside' });
  await symlink('d', join(held.root, 'alias'));
  expect(pin(held.workspace, 'alias/inner', 'directory')?.link).toBe(join(held.root, 'd/inner'));
  expect(pin(held.workspace, 'alias', 'directory')).toBeUndefined();
  expect(pin(held.workspace, 'alias', 'any')?.link).toBe(join(held.root, 'd'));
});

test('where it is left out the access is what this system offers: here that of descriptors', async () => {
  await using held = await open();
  expect(fileAccess()).toBe('paths');
  expect((await createWorkspace({ root: held.root })).access).toBe('descriptors');
});
