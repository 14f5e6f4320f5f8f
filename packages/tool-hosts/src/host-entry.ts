import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from 'recourse-server/files/own-package';

// A host made of its hundred modules spends 0.2 s of processor time on finding, reading and linking them, and one made of a
// bundle a third of that. scripts/bundle-host.ts writes the bundle: for a build into dist/host, for sources into the cache.

/** The bundle in its folder. */
const IN_BUNDLE = 'inside/host-main.mjs';

/** The module that a host begins with: the bundle where there is one made of exactly this code, else the module itself. */
export const findHostEntry = (): string => {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const plain = (extension: string): string => join(here, `inside/host-main${extension}`);
  if (!import.meta.url.endsWith('.ts')) {
    const built = join(PACKAGE_ROOT, 'dist/host', IN_BUNDLE);
    return existsSync(built) ? built : plain('.js');
  }
  return findFreshBundle(PACKAGE_ROOT) ?? plain('.ts');
};

/** The entry of the bundle made of this checkout's sources, as they are now; null where there is none. */
export const findFreshBundle = (root: string): string | null => {
  const cache = join(root, HOST_CACHE);
  const list = join(cache, INPUTS);
  if (!existsSync(list)) return null;
  const inputs = readFileSync(list, 'utf8');
  const entry = join(cache, hashInputs(inputs), IN_BUNDLE);
  return existsSync(entry) && inputs.trim().split('\n').every(isUnchanged(root)) ? entry : null;
};

/** Of a checkout: the folder of its bundles, each in a folder named by `toBundleId`. */
export const HOST_CACHE = 'node_modules/.cache/recourse/host';
/** In that folder: what the latest bundle was made of, a line a file as `toInputLine` writes it. */
export const INPUTS = 'inputs.txt';

export const hashInputs = (inputs: string): string => createHash('sha256').update(inputs).digest('hex').slice(0, 16);

/** SHA-256 of a file's content, and its path within the checkout. */
export const describeInput = (root: string, path: string): string => {
  const content = readFileSync(join(root, path));
  return `${createHash('sha256').update(content).digest('hex')}  ${path}`;
};

const isUnchanged =
  (root: string) =>
  (line: string): boolean => {
    const path = line.slice(line.indexOf('  ') + 2);
    return existsSync(join(root, path)) && describeInput(root, path) === line;
  };
