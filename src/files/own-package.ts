import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);
const isSource = import.meta.url.endsWith('.ts');

/** The directory of this program's package, as an absolute path with a slash at its end. */
export const PACKAGE_ROOT = fileURLToPath(ROOT);

const MODULES = `${sep}node_modules${sep}`;
const at = PACKAGE_ROOT.indexOf(MODULES);

/**
 * The directory that holds all code of the service, with a separator at its end: the outermost `node_modules` above the
 * package, because package managers put dependencies beside it or link them there; without one, the package.
 */
export const INSTALLATION = at === -1 ? PACKAGE_ROOT : PACKAGE_ROOT.slice(0, at + MODULES.length);

/** What the service itself runs from, each with a separator at its end. */
export const OWN_CODE: readonly string[] = ['src', 'dist', 'packages', 'node_modules'].map(
  (folder) => join(PACKAGE_ROOT, folder) + sep,
);

/** The URL of what tool files import as `recourse-server`. */
export const PUBLIC_API: string = new URL(`../recourse${isSource ? '.ts' : '.js'}`, import.meta.url).href;

/** What a process or thread of the service's own code needs of Node: run from sources, packages find each other's sources. */
export const SOURCE_FLAGS: readonly string[] = isSource ? ['-C', '@recourse/source'] : [];

type Manifest = { readonly version: string; readonly peerDependencies: Readonly<Record<string, string>> };

/** What package.json says of this program: it is read anew with each call. */
export const readManifest = (): Manifest => JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
