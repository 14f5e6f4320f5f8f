import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';
import { countLocksIn, MAX_FILE_LOCKS } from '#src/watchdog.ts';

// As long as this, so that a page of the kernel's, which has whole lines, is one of a file.
const LINE_BYTES = 64;

const toLine = (lock: string, at: number): string => `${at + 1}: ${lock}`.padStart(LINE_BYTES - 1, '0');

const countOf = async (locks: readonly string[]): Promise<number> => {
  const { root } = makeDirectory({ locks: `${locks.map(toLine).join('\n')}\n` });
  const file = await open(join(root, 'locks'));
  onTestFinished(() => file.close());
  return countLocksIn(file);
};

const toRange = (_: unknown, at: number): string => `POSIX  ADVISORY  WRITE 7 08:01:42 ${2 * at} ${2 * at}`;
const ranges = (length: number): readonly string[] => Array.from({ length }, toRange);

test('a range that pages have again counts once, and as many as there are count', async () => {
  const own = ranges(1500);
  expect(await countOf([...own, ...own])).toBe(1500);
  expect(await countOf(ranges(3000))).toBeGreaterThan(MAX_FILE_LOCKS);
});

test('a whole file that a process holds by several open files counts each time', async () => {
  const whole = Array.from({ length: 3000 }, () => 'FLOCK  ADVISORY  READ 7 08:01:42 0 EOF');
  expect(await countOf(whole)).toBeGreaterThan(MAX_FILE_LOCKS);
});
