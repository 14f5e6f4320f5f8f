import { type ModuleSource, registerHooks } from 'node:module';
import { extname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

type ToolImports = {
  /** URL of the module that `import … from 'recourse-server'` means, wherever the importing file lies. */
  readonly api: string;
  /** The version of a tool file whose code imports, where the URL of the importing module does not say it; '' = none. */
  readonly versionOf: (parentUrl: string | undefined) => string;
  /** Whether this version has an instance of its own of the module at this absolute path. */
  readonly isOwn: (path: string, version: string) => boolean;
  /** The text of a source file of the tools directory by its absolute path; undefined = as it is on disk. */
  readonly sourceOf: (path: string, version: string) => string | undefined;
  readonly onImport: (path: string, version: string) => void;
  /** A module of this source is about to run; null: Node does not tell its source. */
  readonly onCode?: (source: ModuleSource | null) => void;
  /** A module of Node is about to be imported. */
  readonly onBuiltin: (url: string) => void;
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
const VERSION = 'recourse-version';

// The package's name, and the name that it had before.
const API_NAMES: readonly string[] = ['recourse-server', 'recourse'];

/** Whether a tool file means the tool API by this specifier. */
export const isApi = (specifier: string): boolean => API_NAMES.includes(specifier);

/**
 * Makes the module loader of this process keep a world of modules for each version of a tool file: what it imports of
 * the directory and of packages is loaded again for each version, from kept texts where there are some, under its real
 * URL with the version behind it. Resolves `recourse-server` and `recourse`. There is no way back.
 */
export const serveToolImports = (imports: ToolImports): void => {
  const versionOf = (url: string | undefined): string => readVersion(url) ?? imports.versionOf(url);
  registerHooks({
    resolve: (specifier, context, next) => {
      if (isApi(specifier)) return { url: imports.api, shortCircuit: true };
      const version = versionOf(context.parentURL);
      const url = findStoredUrl(specifier, context.parentURL, (path) => imports.sourceOf(path, version));
      // Not asked of the disk: there the file may be gone by now, or a link may lead to another version.
      if (url !== null) return { url: withVersion(url, version), shortCircuit: true };
      const resolved = next(specifier, context);
      if (resolved.url.startsWith('node:')) imports.onBuiltin(resolved.url);
      const path = readPath(resolved.url);
      const isOwn = path !== null && version !== '' && imports.isOwn(path, version);
      return isOwn ? { ...resolved, url: withVersion(resolved.url, version) } : resolved;
    },
    load: (url, context, next) => {
      const path = readPath(url);
      const version = versionOf(url);
      if (path === null) return next(url, context);
      const source = imports.sourceOf(path, version);
      const loaded =
        source === undefined
          ? next(url, context)
          : { format: context.format ?? decideFormat(path, source), source, shortCircuit: true };
      imports.onCode?.(loaded.source ?? null);
      if (source !== undefined) imports.onImport(path, version);
      return loaded;
    },
  });
};

/** The URL under which this version's instance of a module is loaded. */
export const withVersion = (href: string, version: string): string => {
  const url = new URL(href);
  if (version !== '') url.searchParams.set(VERSION, version);
  return url.href;
};

const readVersion = (url: string | undefined): string | null =>
  url !== undefined && URL.canParse(url) ? new URL(url).searchParams.get(VERSION) : null;

const VERSION_IN_TEXT = new RegExp(`\\?${VERSION}=[\\w-]+`, 'g');

/** Takes the versions out of a text that names modules, such as a stack. */
export const withoutVersions = (text: string): string => text.replace(VERSION_IN_TEXT, '');

const RELATIVE_OR_FILE = /^(?:\.{1,2}\/|file:)/;

const findStoredUrl = (
  specifier: string,
  parent: string | undefined,
  sourceOf: (path: string) => string | undefined,
): string | null => {
  if (!RELATIVE_OR_FILE.test(specifier) || !URL.canParse(specifier, parent)) return null;
  const { href } = new URL(specifier, parent);
  const path = readPath(href);
  return path !== null && sourceOf(path) !== undefined ? href : null;
};

const readPath = (url: string): string | null =>
  url.startsWith('file:') ? fileURLToPath(url.replace(/[?#].*$/, '')) : null;

const decideFormat = (path: string, source: string): string =>
  FORMATS[extname(path)] ?? (MODULE_SYNTAX.test(source) ? 'module' : 'commonjs');

/** Whether `path` lies in `directory` and not in a package installed there. */
export const isOwnSource = (path: string, directory: string): boolean =>
  path.startsWith(directory + sep) && !path.includes(`${sep}node_modules${sep}`);
