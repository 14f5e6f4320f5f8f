import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';

const Manifest = z.looseObject({
  name: z.string(),
  devDependencies: z.unknown().optional(),
  optionalDependencies: z.unknown().optional(),
  workspaces: z.unknown().optional(),
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

// Not `npm sbom --omit dev`: up to npm 11.19 that also leaves out what production and development both need, such as
// ajv (npm/cli#7909). A project in which there is no development has nothing to leave out. Its directory has the name
// of the package, for that is what npm calls the root component.
const writeProductionProject = (project: string): void => {
  // Of the workspaces nothing is in the image either.
  const {
    devDependencies: _,
    optionalDependencies: __,
    workspaces: ___,
    ...manifest
  } = Manifest.parse(readJson('package.json'));
  const lock = Lock.parse(readJson('package-lock.json'));
  const packages = Object.entries(lock.packages).filter(
    ([path, { dev, optional, devOptional, link }]) =>
      !(dev || optional || devOptional || link || path.startsWith('clients/')),
  );
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(project, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }),
  );
};

const SBOM = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];

/** The bill of materials of what `npm ci --omit=dev --omit=optional` installs, as CycloneDX JSON. Throws where npm fails. */
const createSbom = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-sbom-'));
  const project = join(directory, Manifest.parse(readJson('package.json')).name);
  try {
    writeProductionProject(project);
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

// Usage: node scripts/sbom.ts [file]
const [file = 'dist/sbom.cdx.json'] = process.argv.slice(2);
const sbom = withLicenses(createSbom());
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
console.log(`wrote the bill of materials (CycloneDX, ${sbom.components.length} components) to ${file}`);
