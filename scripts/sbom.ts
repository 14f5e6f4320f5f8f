import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';

const Manifest = z.looseObject({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.unknown().optional(),
  peerDependenciesMeta: z.unknown().optional(),
  devDependencies: z.unknown().optional(),
  optionalDependencies: z.unknown().optional(),
  workspaces: z.unknown().optional(),
  bundleDependencies: z.unknown().optional(),
});
const Lock = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      devOptional: z.boolean().optional(),
      link: z.boolean().optional(),
      version: z.string().optional(),
      license: z.unknown().optional(),
    }),
  ),
});
const Component = z.looseObject({ name: z.string(), version: z.string(), licenses: z.unknown().optional() });
const Bom = z.looseObject({ components: z.array(Component) });

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** `image`: what the image has, vendors' clients included. `package`: what `npm install recourse-server` brings. */
type Subject = 'image' | 'package';

// Not `npm sbom --omit dev`: up to npm 11.19 that also leaves out what production and development both need, such as
// ajv (npm/cli#7909). A project in which there is no development has nothing to leave out. Its directory has the name
// of the package, for that is what npm calls the root component.
const writeProductionProject = (project: string, subject: Subject): void => {
  const {
    devDependencies: _,
    peerDependencies: __,
    peerDependenciesMeta: ___,
    workspaces: ____,
    bundleDependencies: _____,
    dependencies,
    ...manifest
  } = Manifest.parse(readJson('package.json'));
  const further = subject === 'image' ? Manifest.parse(readJson('checkout/package.json')).dependencies : {};
  const lock = Lock.parse(readJson('package-lock.json'));
  const packages = Object.entries(lock.packages).filter(
    ([path, { dev, optional, devOptional, link }]) =>
      path.startsWith('node_modules/') && !(dev || optional || devOptional || link),
  );
  // What is made of this repository's own packages is the subject itself.
  const foreign = Object.entries(dependencies).filter(([name]) => !name.startsWith('@recourse/'));
  const root = { ...manifest, dependencies: { ...Object.fromEntries(foreign), ...further } };
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify(root));
  writeFileSync(
    join(project, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(packages) } }),
  );
};

const SBOM = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];

/** The bill of materials, as CycloneDX JSON: the versions are those of the lock file. Throws where npm fails. */
const createSbom = (subject: Subject): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-sbom-'));
  const project = join(directory, Manifest.parse(readJson('package.json')).name);
  try {
    writeProductionProject(project, subject);
    const { error, status, stdout, stderr } = spawnSync('npm', SBOM, { cwd: project, encoding: 'utf8' });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`npm sbom ended with ${status}:\n${stderr}`);
    return stdout;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

// npm leaves a licence out that is called by no name of SPDX, such as BSD. CycloneDX takes it by its name.
const withLicenses = (text: string): z.output<typeof Bom> => {
  const { packages } = Lock.parse(readJson('package-lock.json'));
  const licenses = new Map(
    Object.entries(packages).map(([path, { version, license }]) => [
      `${path.replace(/^.*node_modules\//, '')}@${version}`,
      license,
    ]),
  );
  const sbom = Bom.parse(JSON.parse(text));
  const components = sbom.components.map((component) => {
    const name = licenses.get(`${component.name}@${component.version}`);
    return component.licenses !== undefined || typeof name !== 'string'
      ? component
      : { ...component, licenses: [{ license: { name } }] };
  });
  return { ...sbom, components };
};

// Usage: node scripts/sbom.ts [file] [--package]
const { values, positionals } = parseArgs({ options: { package: { type: 'boolean' } }, allowPositionals: true });
const [file = 'dist/sbom.cdx.json'] = positionals;
const sbom = withLicenses(createSbom(values.package === true ? 'package' : 'image'));
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
console.log(`wrote the bill of materials (CycloneDX, ${sbom.components.length} components) to ${file}`);
