import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, test } from 'vitest';
import { bundleCache, describeInput, findFreshBundle, hashInputs } from '#src/files/source-bundle.ts';

const CACHE = bundleCache('', 'host');

test('a bundle is used as long as each file it was made of is as it was', () => {
  const { root, write } = makeDirectory({ 'src/a.ts': '1', 'src/b.ts': '2' });
  const inputs = ['src/a.ts', 'src/b.ts'].map((path) => `${describeInput(root, path)}\n`).join('');
  expect(inputs.split('\n')[0]).toBe('6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b  src/a.ts');
  const entry = join(CACHE, hashInputs(inputs), 'inside/host-main.mjs');
  expect(findFreshBundle(root, 'host')).toBeNull();
  write(join(CACHE, 'inputs.txt'), inputs);
  expect(findFreshBundle(root, 'host')).toBeNull();
  write(entry, '');
  expect(findFreshBundle(root, 'host')).toBe(join(root, entry));
  write('src/b.ts', '3');
  expect(findFreshBundle(root, 'host')).toBeNull();
  write('src/b.ts', '2');
  expect(findFreshBundle(root, 'host')).toBe(join(root, entry));
  // A list that was changed belongs to another bundle.
  writeFileSync(join(root, CACHE, 'inputs.txt'), inputs.slice(0, -1));
  expect(findFreshBundle(root, 'host')).toBeNull();
});

test('a list that another checkout left, however new, is replaced before the service starts', () => {
  const { root } = makeDirectory({});
  for (const path of ['src', 'scripts', 'packages', 'package.json'])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  mkdirSync(join(root, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
  const ensure = () => spawnSync('sh', ['scripts/ensure-bundles.sh'], { cwd: root, encoding: 'utf8' });
  expect(ensure()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  const entry = findFreshBundle(root, 'host');
  expect(entry).toMatch(/host-main\.mjs$/);
  writeFileSync(join(root, CACHE, 'inputs.txt'), `${'0'.repeat(64)}  src/recourse.ts\n`);
  expect(findFreshBundle(root, 'host')).toBeNull();
  expect(ensure()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(findFreshBundle(root, 'host')).toBe(entry);
  expect(findFreshBundle(root, 'console')).toMatch(/app\.js$/);
});
