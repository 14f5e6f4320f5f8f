import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, test } from 'vitest';
import { describeInput, findFreshBundle, hashInputs } from '#src/host-entry.ts';

const CACHE = 'node_modules/.cache/recourse/host';

test('a bundle is used as long as each file it was made of is as it was', () => {
  const { root, write } = makeDirectory({ 'src/a.ts': '1', 'src/b.ts': '2' });
  const inputs = ['src/a.ts', 'src/b.ts'].map((path) => `${describeInput(root, path)}\n`).join('');
  expect(inputs.split('\n')[0]).toBe('6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b  src/a.ts');
  const entry = join(CACHE, hashInputs(inputs), 'inside/host-main.mjs');
  expect(findFreshBundle(root)).toBeNull();
  write(join(CACHE, 'inputs.txt'), inputs);
  expect(findFreshBundle(root)).toBeNull();
  write(entry, '');
  expect(findFreshBundle(root)).toBe(join(root, entry));
  write('src/b.ts', '3');
  expect(findFreshBundle(root)).toBeNull();
  write('src/b.ts', '2');
  expect(findFreshBundle(root)).toBe(join(root, entry));
  // A list that was changed belongs to another bundle.
  writeFileSync(join(root, CACHE, 'inputs.txt'), inputs.slice(0, -1));
  expect(findFreshBundle(root)).toBeNull();
});

test('a list that another checkout left, however new, is replaced before the service starts', () => {
  const { root } = makeDirectory({});
  for (const path of ['src', 'scripts', 'package.json'])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  mkdirSync(join(root, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
  const ensure = () => spawnSync('sh', ['scripts/ensure-host-bundle.sh'], { cwd: root, encoding: 'utf8' });
  expect(ensure()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  const entry = findFreshBundle(root);
  expect(entry).toMatch(/host-main\.mjs$/);
  writeFileSync(join(root, CACHE, 'inputs.txt'), `${'0'.repeat(64)}  src/recourse.ts\n`);
  expect(findFreshBundle(root)).toBeNull();
  expect(ensure()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(findFreshBundle(root)).toBe(entry);
});

// JavaScript with a zod schema: what strips types takes 17 MB by itself, and what checks JSON Schema 15.
const REPORT = `
  import { readFileSync } from 'node:fs';
  import { defineTool, z } from 'recourse-server';
  import 'plain';
  const run = () => {
    const resident = /VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return { entry: process.argv[1], loaded: process.moduleLoadList, residentMb: Number(resident) / 1024 };
  };
  export const report = defineTool({ name: 'report', description: '', effects: 'read', input: z.object({}), run });
`;

test('a host of this checkout starts from its bundle, with no more than it needs', async () => {
  const bundled = spawnSync('node', [...FROM_SOURCES, 'scripts/bundle-host.ts'], { cwd: ROOT, encoding: 'utf8' });
  expect(bundled).toMatchObject({ status: 0, stdout: '', stderr: '' });
  const lab = openLab({ minHosts: 1 });
  const plain = join(lab.root, 'node_modules/plain');
  mkdirSync(plain, { recursive: true });
  writeFileSync(join(plain, 'index.js'), 'module.exports = 1;');
  const { call } = await lab.load(REPORT, 'report.mjs');
  const { entry, loaded, residentMb } = readReport(toOutcome(await call('report')));
  expect(entry).toMatch(/node_modules\/\.cache\/recourse\/host\/[0-9a-f]{16}\/inside\/host-main\.mjs$/);
  // In Node's own modules: what fetch, WebSocket and TLS are made of. Loading them takes as long as the rest.
  expect(loaded.filter((name) => /undici|http2|tls|https/.test(name))).toEqual([]);
  // 65 as measured, and 71 where no compiled code is kept yet; 81 without the bundle.
  expect(residentMb).toBeLessThan(75);
});

type Report = { readonly entry: string; readonly loaded: readonly string[]; readonly residentMb: number };

const readReport = (value: unknown): Report => {
  if (typeof value !== 'object' || value === null) throw new Error(`no report: ${String(value)}`);
  const { entry, loaded, residentMb } = { entry: '', loaded: [], residentMb: Number.NaN, ...value };
  return { entry, loaded, residentMb };
};

test('the bundle has one character a byte, or all of its text would take twice the memory', () => {
  const entry = findFreshBundle(ROOT) ?? '';
  expect(readFileSync(entry, 'latin1')).not.toMatch(/[^\n\t\x20-\x7e]/);
});
