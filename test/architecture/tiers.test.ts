import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

// What `npm run test:system` installs first, and `npm test` does not.
const HELPERS = ['support/chromium.ts', 'support/prometheus.ts', 'support/slowhttptest.ts'];
const STARTS_PYTHON = /[']python3[']/;

const ROOT = join(import.meta.dirname, '../..');
const TEST = join(ROOT, 'test');
const IMPORT = /(?:from|import)\s+'(\.[^']+|#test\/[^']+|@recourse\/test-support\/[^']+)'/g;

const toPath = (from: string, specifier: string): string => {
  const [, unit = TEST] = /^(.*\/packages\/[^/]+\/test)\//.exec(from) ?? [];
  if (specifier.startsWith('#test/')) return join(unit, specifier.slice('#test/'.length));
  return specifier.startsWith('@recourse/')
    ? join(TEST, specifier.slice('@recourse/test-'.length))
    : normalize(join(dirname(from), specifier));
};

/** A file, and all files of test that it imports. */
const closureOf = (path: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(path) || !existsSync(path)) return seen;
  seen.add(path);
  for (const [, specifier = ''] of readFileSync(path, 'utf8').matchAll(IMPORT))
    closureOf(toPath(path, specifier), seen);
  return seen;
};

const needsInstallation = (path: string): boolean =>
  [...closureOf(path)].some(
    (file) => HELPERS.some((helper) => file === join(TEST, helper)) || STARTS_PYTHON.test(readFileSync(file, 'utf8')),
  );

test('no test of `npm test` needs what only the system tier installs: it passes on a fresh machine', () => {
  const all = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: ROOT }).map((path) =>
    join(ROOT, path),
  );
  const needing = all.filter(needsInstallation);
  // It sees those that do.
  expect(needing).toContain(join(ROOT, 'packages/console/test/console.system.test.ts'));
  expect(needing.filter((path) => !path.endsWith('.system.test.ts'))).toEqual([]);
});
