import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';
import { ROOT } from './script-sandbox.ts';

const Component = z.object({
  type: z.literal('library'),
  name: z.string().min(1),
  version: z.string().min(1),
  purl: z.string(),
  licenses: z.array(z.union([z.object({ license: z.unknown() }), z.object({ expression: z.string() })])).min(1),
  hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string().regex(/^[0-9a-f]{128}$/) })).min(1),
});
const Bom = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string().regex(/^1\.\d$/),
  serialNumber: z.string().startsWith('urn:uuid:'),
  metadata: z.object({ component: z.object({ type: z.string(), name: z.string(), version: z.string() }) }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

const directory = mkdtempSync(join(tmpdir(), 'recourse-sbom-test-'));
const file = join(directory, 'deep', 'sbom.json');
const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/sbom.ts', file], {
  cwd: ROOT,
  encoding: 'utf8',
});
afterAll(() => rmSync(directory, { recursive: true }));
const readBom = () => Bom.parse(JSON.parse(readFileSync(file, 'utf8')));

test('the script says where it wrote the bill of materials, and of how many components', () => {
  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect(stdout).toBe(
    `wrote the bill of materials (CycloneDX, ${readBom().components.length} components) to ${file}\n`,
  );
});

test('it is about this application', () => {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  expect(readBom().metadata.component).toEqual({ type: 'application', name: 'recourse-server', version });
});

test('its components are what is installed for production, each with its address, licence and hash', () => {
  const Lock = z.object({
    packages: z.record(
      z.string(),
      z.object({
        // A workspace's link has none.
        version: z.string().default(''),
        dev: z.boolean().default(false),
        optional: z.boolean().default(false),
        devOptional: z.boolean().default(false),
      }),
    ),
  });
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  const installed = Object.entries(packages).flatMap(([path, { version, dev, optional, devOptional }]) =>
    version === '' || !path.startsWith('node_modules/') || dev || optional || devOptional
      ? []
      : [`${path.replace(/^.*node_modules\//, '')}@${version}`],
  );
  expect(installed.length).toBeGreaterThan(50);
  const { components } = readBom();
  // Sets, for npm 10 says twice what is installed twice.
  expect(new Set(components.map(({ name, version }) => `${name}@${version}`))).toEqual(new Set(installed));
  expect(components.map(({ purl }) => purl)).toEqual(
    components.map(({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`),
  );
});

test('what production shares with development is in it, what only development needs is not', () => {
  const names = readBom().components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'ajv', 'yaml', 'semver', '@opentelemetry/api']));
  const others = /^(vitest|typescript|playwright-core|kubernetes-models|node-linux-.*|@biomejs\/.*|@types\/supertest)$/;
  expect(names.filter((name) => others.test(name))).toEqual([]);
});

test('every component says what it needs, and that is in it, too', () => {
  const { components, dependencies } = readBom();
  const known = new Set(components.map(({ name, version }) => `${name}@${version}`));
  expect(new Set(dependencies.map(({ ref }) => ref)).size).toBe(known.size + 1);
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref))).toEqual([]);
});
