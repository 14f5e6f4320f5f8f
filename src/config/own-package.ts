import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);

/** The directory of this program's package, as an absolute path with a slash at its end. */
export const PACKAGE_ROOT = fileURLToPath(ROOT);

type Manifest = { readonly version: string; readonly peerDependencies: Readonly<Record<string, string>> };

/** What package.json says of this program: it is read anew with each call. */
export const readManifest = (): Manifest => JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
