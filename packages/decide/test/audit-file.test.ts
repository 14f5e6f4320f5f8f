import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditFile } from '@recourse/decide/audit/audit-file';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';

const openFile = async (path: string, maxWaiting?: number) => {
  const seen = { lost: 0, changes: [] as (string | null)[] };
  const file = new AuditFile({
    path,
    lost: (lines) => {
      seen.lost += lines;
    },
    changed: (problem) => void seen.changes.push(problem),
    ...(maxWaiting === undefined ? {} : { maxWaiting }),
  });
  onTestFinished(() => file.close());
  await file.flush();
  return { file, seen };
};

const linesOf = (...paths: readonly string[]): readonly string[] =>
  paths.flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(0, -1));

const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `{"line":${at}}`);

test('a file that is moved while lines come gets no further one, and no line is lost or there twice', async () => {
  const { root } = makeDirectory();
  const path = join(root, 'audit.jsonl');
  const { file, seen } = await openFile(path);
  const moved: string[] = [];
  for (const [at, line] of numbered(5000).entries()) {
    file.write(line);
    if (at % 500 !== 250) continue;
    void file.flush();
    moved.push(`${path}.${at}`);
    renameSync(path, `${path}.${at}`);
    file.reopen();
    await file.flush();
  }
  await file.close();
  expect(linesOf(...moved, path)).toEqual(numbered(5000));
  expect(seen).toEqual({ lost: 0, changes: [] });
});

test('a file that was deleted is made anew with the next lines, without a signal', async () => {
  const directory = makeDirectory();
  const path = join(directory.root, 'audit.jsonl');
  const { file } = await openFile(path);
  file.write('one');
  await file.flush();
  directory.remove('audit.jsonl');
  file.write('two');
  await file.flush();
  expect(linesOf(path)).toEqual(['two']);
});

test('a full disk is told once; lines wait as long as there is room, and the others are counted', async () => {
  // Opens, and takes nothing: ENOSPC.
  const { file, seen } = await openFile('/dev/full', 40);
  for (const line of ['one', 'two']) file.write(line);
  await file.flush();
  expect(file.isUp()).toBe(false);
  expect(seen).toEqual({ lost: 0, changes: ['ENOSPC'] });
  for (const line of numbered(10)) file.write(line);
  expect(seen.lost).toBeGreaterThan(5);
  await file.close();
  expect(seen.lost).toBe(12);
});

/** A disk of so many KiB, where the machine lets tests mount one. */
const mountDisk = (kib: number): string | null => {
  const { root } = makeDirectory();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', root]).status !== 0) return null;
  onTestFinished(() => void spawnSync('umount', ['-l', root]));
  return root;
};

test.each(['stays', 'is moved'] as const)(
  'lines of which a disk that fills up took half are there whole once it has room, where the file %s',
  async (fate) => {
    const disk = mountDisk(64);
    if (disk === null) return;
    const path = join(disk, 'audit.jsonl');
    const { file, seen } = await openFile(path);
    const lines = Array.from({ length: 1200 }, (_, at) => `{"line":${at},"filler":"${'x'.repeat(40 + (at % 37))}"}`);
    writeFileSync(join(disk, 'other'), 'y'.repeat(30_000));
    for (const line of lines) file.write(line);
    await file.flush();
    expect(seen.changes).toEqual(['ENOSPC']);
    const half = readFileSync(path, 'utf8');
    expect(half.length).toBeGreaterThan(0);
    spawnSync('mount', ['-o', 'remount,size=1m', disk]);
    if (fate === 'is moved') renameSync(path, `${path}.1`);
    await file.flush();
    await file.close();
    expect(seen).toEqual({ lost: 0, changes: ['ENOSPC', null] });
    // In the file that was moved half a line is left, which is whole in the next.
    const moved = fate === 'is moved' ? linesOf(`${path}.1`) : [];
    expect([...moved, ...linesOf(path)]).toEqual(lines);
  },
);

test('the half of a line that a killed process has left ends before the first line of the next', async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  writeFileSync(path, 'whole\nhal');
  const { file } = await openFile(path);
  file.write('next');
  await file.close();
  expect(linesOf(path)).toEqual(['whole', 'hal', 'next']);
});

test('lines of others who append stay whole', async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const { file } = await openFile(path);
  file.write('one');
  await file.flush();
  appendFileSync(path, 'other\n');
  file.write('two');
  await file.close();
  expect(linesOf(path)).toEqual(['one', 'other', 'two']);
});

test('what was gathered is there after an exit that waits for nothing', async () => {
  const path = join(makeDirectory().root, 'audit.jsonl');
  const { file } = await openFile(path);
  file.write('last');
  file.flushSync();
  expect(linesOf(path)).toEqual(['last']);
});
