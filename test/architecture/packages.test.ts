import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { readSourceFiles } from './source-files.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAMES = readdirSync(join(ROOT, 'packages')).sort();

const Versions = z.record(z.string(), z.string()).default({});
const Manifest = z.object({
  name: z.string(),
  private: z.boolean().optional(),
  files: z.array(z.string()),
  exports: z.record(z.string(), z.unknown()),
  dependencies: Versions,
  peerDependencies: Versions,
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean() })).default({}),
  bundleDependencies: z.array(z.string()).default([]),
});

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readManifest = (folder: string) => Manifest.parse(JSON.parse(read(join(folder, 'package.json'))));
const service = readManifest('.');
const FILES = readSourceFiles();

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** What the files of a package import beside Node's own modules and their own package, by the names of packages. */
const importsOf = (name: string): ReadonlySet<string> => {
  const own = FILES.filter(({ path }) => path.startsWith(`@${name}/`));
  const named = own.flatMap(({ local, packages }) => [
    ...packages.map(({ from }) => packageOf(from)).filter((from) => !from.startsWith('node:')),
    ...local.flatMap(({ from }) => {
      const [unit = ''] = from.split('/');
      if (!unit.startsWith('@')) return ['recourse-server'];
      return unit === `@${name}` ? [] : [unit.replace('@', '@recourse/')];
    }),
  ]);
  return new Set(named);
};

test('each package has the name of its folder, is never published, and packs what was built', () => {
  for (const name of NAMES) {
    const manifest = readManifest(`packages/${name}`);
    expect(manifest).toMatchObject({ name: `@recourse/${name}`, private: true, files: ['dist'] });
  }
});

test('docs/architecture.md leads to the README of each package', () => {
  const page = read('docs/architecture.md');
  expect(NAMES.filter((name) => !page.includes(`](../packages/${name}/README.md)`))).toEqual([]);
  expect(NAMES.filter((name) => !/^# .+\n\n\S/.test(read(`packages/${name}/README.md`)))).toEqual([]);
});

// As dependencies they would be packed again inside each package, the service itself among them; as peers that are not
// optional, npm would ask a registry for them.
test('a package names what it imports as optional peers, and the service installs these', () => {
  for (const name of NAMES) {
    const { dependencies, peerDependencies, peerDependenciesMeta } = readManifest(`packages/${name}`);
    expect([name, dependencies]).toEqual([name, {}]);
    expect([name, Object.keys(peerDependencies).sort()]).toEqual([name, [...importsOf(name)].sort()]);
    expect(Object.keys(peerDependenciesMeta).sort()).toEqual(Object.keys(peerDependencies).sort());
    const installed = { ...service.dependencies, ...service.peerDependencies, 'recourse-server': '*' };
    expect(Object.keys(peerDependencies).filter((peer) => !Object.hasOwn(installed, peer))).toEqual([]);
  }
});

test('the service depends on every package and packs it into its one tarball', () => {
  const names = NAMES.map((name) => `@recourse/${name}`);
  expect(Object.keys(service.dependencies).filter((name) => name.startsWith('@recourse/'))).toEqual(names);
  expect(service.bundleDependencies).toEqual(names);
});

test('the lock file takes the service and its packages from this repository, never from a registry', () => {
  const Lock = z.object({
    packages: z.record(z.string(), z.object({ resolved: z.string().optional(), link: z.boolean().optional() })),
  });
  const { packages } = Lock.parse(JSON.parse(read('package-lock.json')));
  const own = Object.entries(packages).filter(([path]) =>
    /node_modules\/(recourse-server|@recourse\/[^/]+)$/.test(path),
  );
  expect(own.length).toBeGreaterThan(NAMES.length);
  expect(own.filter(([, { link }]) => link !== true)).toEqual([]);
});

test('the image installs with the manifest of every package', () => {
  const lines = NAMES.map((name) => `COPY packages/${name}/package.json packages/${name}/\n`).join('');
  expect(read('Dockerfile').split(lines)).toHaveLength(3);
});

// Not one by one: Node reads the list anew for each import of it, which took 45 MB and 80 ms of a start.
test('what the service exports is its three entries, and by patterns what its packages and their tests need', () => {
  expect(Object.keys(service.exports)).toEqual([
    '.',
    './testing',
    './extension',
    './internal/*',
    './*',
    './package.json',
  ]);
});

// Those of the examples are run by a test, as their users run them.
test('every test that git knows is run by one project', () => {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const known = stdout
    .trim()
    .split('\n')
    .filter((path) => globSync(path, { cwd: ROOT }).length > 0 && !path.startsWith('examples/'));
  expect(known.length).toBeGreaterThan(500);
  const [, tests = ''] = /const TESTS = \[(.*)\];/.exec(read('vitest.config.ts')) ?? [];
  const patterns = tests.split(', ').map((text) => text.slice(1, -1));
  expect(patterns).toHaveLength(2);
  expect(known.filter((path) => patterns.filter((pattern) => matchesGlob(path, pattern)).length !== 1)).toEqual([]);
});
