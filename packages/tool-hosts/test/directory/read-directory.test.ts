import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';
import { isToolFile, readDirectory, scanDirectory } from '#src/directory/read-directory.ts';

const read = async (root: string): Promise<Readonly<Record<string, string>>> => {
  const { sources } = await readDirectory(root);
  return Object.fromEntries([...sources].map(([path, text]) => [relative(root, path), text]));
};

test('source files are read at any depth; what is hidden, installed, or no source is not', async () => {
  const { root } = makeDirectory({
    'a.ts': 'a',
    'b.mts': 'b',
    'c.cts': 'c',
    'd.js': 'd',
    'e.mjs': 'e',
    'f.cjs': 'f',
    'g.json': 'g',
    'deep/er/h.ts': 'h',
    'README.md': 'no',
    'data.sqlite': 'no',
    'a.ts~': 'no',
    '.hidden.ts': 'no',
    '.git/x.ts': 'no',
    'node_modules/left-pad/index.js': 'no',
    'deep/node_modules/x.ts': 'no',
  });
  expect(await read(root)).toEqual({
    'a.ts': 'a',
    'b.mts': 'b',
    'c.cts': 'c',
    'd.js': 'd',
    'e.mjs': 'e',
    'f.cjs': 'f',
    'g.json': 'g',
    'deep/er/h.ts': 'h',
  });
});

test('files that are mounted as links into a hidden directory are read, as Kubernetes mounts them', async () => {
  const { root } = makeDirectory({ '..2026_11_21/weather.ts': 'v1' });
  symlinkSync('..2026_11_21', join(root, '..data'));
  symlinkSync('..data/weather.ts', join(root, 'weather.ts'));
  expect(await read(root)).toEqual({ 'weather.ts': 'v1' });
  const before = await scanDirectory(root);
  mkdirSync(join(root, '..2026_11_22'));
  writeFileSync(join(root, '..2026_11_22/weather.ts'), 'v2');
  symlinkSync('..2026_11_22', join(root, '..new'));
  renameSync(join(root, '..new'), join(root, '..data'));
  expect(await read(root)).toEqual({ 'weather.ts': 'v2' });
  expect((await scanDirectory(root)).fingerprint).not.toBe(before.fingerprint);
});

test('links to directories, to nothing and to themselves are passed over', async () => {
  const { root } = makeDirectory({ 'a.ts': 'a', 'sub/b.ts': 'b' });
  symlinkSync('.', join(root, 'loop'));
  symlinkSync('sub', join(root, 'other'));
  symlinkSync('nothing.ts', join(root, 'dangling.ts'));
  symlinkSync('self.ts', join(root, 'self.ts'));
  expect(await read(root)).toEqual({ 'a.ts': 'a', 'sub/b.ts': 'b' });
});

test('the directory itself may be a link; what it leads to is the root', async () => {
  const { root } = makeDirectory({ 'v1/a.ts': 'a' });
  symlinkSync('v1', join(root, 'current'));
  const snapshot = await readDirectory(join(root, 'current'));
  expect(snapshot.root).toBe(join(root, 'v1'));
  expect([...snapshot.sources.keys()]).toEqual([join(root, 'v1/a.ts')]);
});

test('a FIFO, a socket, a device and a directory with the name of a source are passed over and hold nothing up', async () => {
  const { root } = makeDirectory({ 'a.ts': 'a' });
  execFileSync('mkfifo', [join(root, 'fifo.ts')]);
  symlinkSync('fifo.ts', join(root, 'linked-fifo.ts'));
  symlinkSync('/dev/zero', join(root, 'device.ts'));
  mkdirSync(join(root, 'folder.ts'));
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(root, 'socket.ts'), resolve));
  onTestFinished(() => void server.close());
  expect(await read(root)).toEqual({ 'a.ts': 'a' });
});

test('a file that cannot be read stands for itself alone', async () => {
  const { root } = makeDirectory({ 'a.ts': 'a' });
  // Not by its permissions: root may read everything. Nothing is mapped where this file begins.
  symlinkSync('/proc/self/mem', join(root, 'b.ts'));
  const { sources, unreadable } = await readDirectory(root);
  expect([...sources.values()]).toEqual(['a']);
  expect([...unreadable]).toEqual([[join(root, 'b.ts'), 'cannot be read (EIO)']]);
});

test('a directory that is not there, or is a file, is refused by name', async () => {
  const { root } = makeDirectory({ 'a.ts': 'a' });
  await expect(readDirectory(join(root, 'none'))).rejects.toThrow(`TOOLS_DIR ${root}/none does not exist.`);
  await expect(readDirectory(join(root, 'a.ts'))).rejects.toThrow(`TOOLS_DIR ${root}/a.ts is not a directory.`);
});

test('a thousand source files are read, one more is refused', async () => {
  const { root, write } = makeDirectory();
  for (let number = 0; number < 1000; number += 1) write(`tools/f${number}.ts`, 'x');
  expect((await readDirectory(root)).sources.size).toBe(1000);
  write('one-more.json', '{}');
  await expect(readDirectory(root)).rejects.toThrow(`TOOLS_DIR ${root} contains more than 1000 source files.`);
});

test('sixteen MiB of sources are read, one byte more is refused, and a sparse giant at once', async () => {
  const { root, write } = makeDirectory({ 'a.ts': 'x' });
  write('b.json', 'y'.repeat(16 * 1024 * 1024 - 1));
  expect((await readDirectory(root)).sources.size).toBe(2);
  write('a.ts', 'xx');
  const problem = `TOOLS_DIR ${root} contains more than 16 MiB of source files.`;
  await expect(readDirectory(root)).rejects.toThrow(problem);
  truncateSync(join(root, 'a.ts'), 50 * 1024 ** 3);
  await expect(readDirectory(root)).rejects.toThrow(problem);
});

test('ten thousand entries are looked at, whatever they are', async () => {
  const { root, write } = makeDirectory();
  for (let number = 0; number < 10_001; number += 1) write(`data/row${number}.csv`, '');
  await expect(scanDirectory(root)).rejects.toThrow(`TOOLS_DIR ${root} contains more than 10000 entries.`);
});

test('the fingerprint changes with every change of a source, also one that keeps size and time', async () => {
  const { root, write, remove } = makeDirectory({ 'a.ts': 'a', 'notes.txt': 'n' });
  const seen = new Set([(await scanDirectory(root)).fingerprint]);
  const change = async (act: () => void): Promise<number> => {
    act();
    return seen.add((await scanDirectory(root)).fingerprint).size;
  };
  expect(await change(() => undefined)).toBe(1);
  expect(await change(() => write('notes.txt', 'other'))).toBe(1);
  expect(await change(() => write('a.ts', 'ab'))).toBe(2);
  utimesSync(join(root, 'a.ts'), 1, 1);
  expect(await change(() => undefined)).toBe(3);
  expect(
    await change(() => {
      write('a.ts', 'xy');
      utimesSync(join(root, 'a.ts'), 1, 1);
    }),
  ).toBe(4);
  expect(await change(() => write('b.ts', 'b'))).toBe(5);
  expect(await change(() => renameSync(join(root, 'b.ts'), join(root, 'c.ts')))).toBe(6);
  expect(await change(() => remove('c.ts'))).toBe(6);
});

test.each([
  ['weather.ts', true],
  ['sub/weather.mts', true],
  ['weather.js', true],
  ['weather.mjs', true],
  ['weather.cts', false],
  ['weather.cjs', false],
  ['weather.json', false],
  ['weather.d.ts', false],
  ['weather.test.ts', false],
  ['weather.spec.mjs', false],
  ['vitest.config.ts', false],
  ['latest.ts', true],
])('%s is looked at for tools: %s', (name, expected) => {
  expect(isToolFile(name)).toBe(expected);
});
