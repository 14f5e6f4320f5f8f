import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// What is loaded as one file, because finding, reading and linking its modules takes longer than running them: by
// scripts/bundle.ts, for a build into `dist`, for the sources of a checkout into the cache.

/** Each bundle, and its file within its folder. */
export const BUNDLES = { host: 'inside/host-main.mjs', console: 'app.js' } as const;
export type BundleName = keyof typeof BUNDLES;

/** In a bundle's cache: what the latest one was made of, a line a file as `describeInput` writes it. */
export const INPUTS = 'inputs.txt';

/** The bundles of one name that were made of a checkout's sources, each in a folder named by `hashInputs`. */
export const bundleCache = (root: string, name: BundleName): string => join(root, 'node_modules/.cache/recourse', name);

/** The path of the bundle made of this checkout's sources, as they are now; null where there is none. */
export const findFreshBundle = (root: string, name: BundleName): string | null => {
  const cache = bundleCache(root, name);
  const list = join(cache, INPUTS);
  if (!existsSync(list)) return null;
  const inputs = readFileSync(list, 'utf8');
  const bundle = join(cache, hashInputs(inputs), BUNDLES[name]);
  return existsSync(bundle) && inputs.trim().split('\n').every(isUnchanged(root)) ? bundle : null;
};

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
