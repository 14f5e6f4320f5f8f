import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createFindOverlap } from '#src/config/path-overlap.ts';

test('a path is inside also where the file system takes it in capitals, as that of macOS does', async () => {
  const base = await realpath(mkdtempSync(join(tmpdir(), 'overlap-')));
  onTestFinished(() => rmSync(base, { recursive: true }));
  mkdirSync(join(base, 'files/tools'), { recursive: true });
  mkdirSync(join(base, 'other'));
  // Gives each name as it was made, as realpath(3) does on APFS; this machine has no such file system.
  const toReal = (path: string): Promise<string> =>
    realpath(path).catch(() => realpath(path.replace(/FILES.*$/, (names) => names.toLowerCase())));
  const find = await createFindOverlap(join(base, 'files'), toReal);
  expect(await find(join(base, 'files/tools'))).toBe('inside');
  expect(await find(join(base, 'FILES/Tools'))).toBe('inside');
  expect(await find(join(base, 'FILES'))).toBe('inside');
  expect(await find(join(base, 'other'))).toBe('apart');
  expect(await find(base)).toBe('around');
});
