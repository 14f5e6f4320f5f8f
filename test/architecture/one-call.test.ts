import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const ROW = /^\| \d+ \| `([^`]+)` \| (\d+) \|/gm;

const page = readFileSync(join(ROOT, 'docs/one-call.md'), 'utf8');
const listed = [...page.matchAll(ROW)].map(([, path = '', lines]) => ({ path, lines: Number(lines) }));

test('a call inside the service passes at most fourteen files', () => {
  expect(listed.length).toBeGreaterThan(10);
  expect(listed.length).toBeLessThanOrEqual(14);
});

test('each file of the page has as many lines as the page says', () => {
  const counted = listed.map(({ path }) => ({
    path,
    lines: readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1,
  }));
  expect(listed).toEqual(counted);
});
