import { registerHooks } from 'node:module';
import { extname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export type ToolImports = {
  /** URL of the module that `import … from 'recourse'` means, wherever the importing file lies. */
  readonly api: string;
  /** The text of a source file of the tools directory by its absolute path; undefined = as it is on disk. */
  readonly sourceOf: (path: string) => string | undefined;
  readonly onImport: (path: string) => void;
};

const FORMATS: Readonly<Record<string, string>> = {
  '.ts': 'module-typescript',
  '.mts': 'module-typescript',
  '.cts': 'commonjs-typescript',
  '.mjs': 'module',
  '.cjs': 'commonjs',
  '.json': 'json',
};
const MODULE_SYNTAX = /^\s*(?:import\b(?!\s*\()|export\b)/m;

/**
 * Makes the module loader of this process read the tools directory from kept texts, under its real URLs, and resolve
 * `recourse`. There is no way back: for processes that load one version of one file.
 */
export const serveToolImports = (imports: ToolImports): void => {
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === 'recourse') return { url: imports.api, shortCircuit: true };
      const url = toKeptUrl(specifier, context.parentURL, imports.sourceOf);
      // Not asked of the disk: there the file may be gone by now, or a link may lead to another version.
      return url === null ? next(specifier, context) : { url, shortCircuit: true };
    },
    load: (url, context, next) => {
      const path = toPath(url);
      const source = path === null ? undefined : imports.sourceOf(path);
      if (path === null || source === undefined) return next(url, context);
      imports.onImport(path);
      return { format: context.format ?? toFormat(path, source), source, shortCircuit: true };
    },
  });
};

const RELATIVE_OR_FILE = /^(?:\.{1,2}\/|file:)/;

const toKeptUrl = (specifier: string, parent: string | undefined, sourceOf: ToolImports['sourceOf']): string | null => {
  if (!RELATIVE_OR_FILE.test(specifier) || !URL.canParse(specifier, parent)) return null;
  const { href } = new URL(specifier, parent);
  const path = toPath(href);
  return path !== null && sourceOf(path) !== undefined ? href : null;
};

const toPath = (url: string): string | null =>
  url.startsWith('file:') ? fileURLToPath(url.replace(/[?#].*$/, '')) : null;

const toFormat = (path: string, source: string): string =>
  FORMATS[extname(path)] ?? (MODULE_SYNTAX.test(source) ? 'module' : 'commonjs');

/** Whether `path` lies in `directory` and not in a package installed there. */
export const isOwnSource = (path: string, directory: string): boolean =>
  path.startsWith(directory + sep) && !path.includes(`${sep}node_modules${sep}`);
