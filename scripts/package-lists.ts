import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

// Where npm and the image must be told of every folder in packages/.

const ROOT = join(import.meta.dirname, '..');
const NAMES = readdirSync(join(ROOT, 'packages')).sort();
const OWN = /^@recourse\//;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const Members = z.record(z.string(), z.unknown());

/** package.json as it is, with every package among what is installed and packed. */
export const withPackagesInManifest = (): string => {
  // A record, which keeps the order of its members.
  const manifest = Members.parse(JSON.parse(read('package.json')));
  const names = NAMES.map((name) => `@recourse/${name}`);
  const others = Object.entries(Members.parse(manifest['dependencies'])).filter(([name]) => !OWN.test(name));
  const all = [...others, ...names.map((name) => [name, '*'] as const)];
  const dependencies = Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
  return `${JSON.stringify({ ...manifest, dependencies, bundleDependencies: names }, null, 2)}\n`;
};

/** The Dockerfile as it is, with the manifest of every package where it installs. */
export const withPackagesInDockerfile = (): string => {
  const lines = NAMES.map((name) => `COPY packages/${name}/package.json packages/${name}/\n`).join('');
  return read('Dockerfile').replace(/(?:^COPY packages\/[a-z-]+\/package\.json packages\/[a-z-]+\/\n)+/gm, lines);
};
