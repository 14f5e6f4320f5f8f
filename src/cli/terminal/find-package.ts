import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How files of a directory come to the package `recourse`, and how this program is called. */
export type FoundPackage = {
  /**
   * `installed`: an import finds it above the directory. `checkout`: this program runs from its sources, which an import does
   * not find. `missing`: it must be installed.
   */
  readonly kind: 'installed' | 'checkout' | 'missing';
  /** Where this program's package lies, as an absolute path. */
  readonly root: string;
  /** What a person types for this program: `npx recourse`, or `node src/main.ts`. */
  readonly command: string;
};

const ROOT = fileURLToPath(new URL('../../../', import.meta.url)).replace(/[\\/]$/, '');

/** The version of this program's package. */
export const readVersion = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
};

// npm starts the Node that comes with a checkout; elsewhere than in the checkout it would look for files there.
const toCheckoutCommand = (root: string): string =>
  process.cwd() === root ? 'npm start --' : `node ${relative(process.cwd(), join(root, 'src/main.ts'))}`;

/** Looks for the package `recourse` as an import from a file of `directory` would; the directory need not be there yet. */
export const findPackage = (directory: string): FoundPackage => {
  const root = ROOT;
  const isCheckout = import.meta.url.endsWith('.ts');
  const command = isCheckout ? toCheckoutCommand(root) : 'npx recourse';
  const places = createRequire(join(directory, 'tool.js')).resolve.paths('recourse') ?? [];
  const isFound = places.some((place) => existsSync(join(place, 'recourse/package.json')));
  if (isFound) return { kind: 'installed', root, command };
  return { kind: isCheckout ? 'checkout' : 'missing', root, command };
};
