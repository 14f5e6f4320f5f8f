import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Extension, isExtension } from './extension.ts';
import { createExtensionSet, type ExtensionSet } from './extension-set.ts';

type LoadOptions = {
  /** What EXTENSIONS says: paths that begin with `.` or `/`, and names of packages. */
  readonly names: readonly string[];
  /** Where paths and packages are looked for, as an absolute path. */
  readonly directory: string;
  /** The extensions that every service has. */
  readonly own: ExtensionSet;
  /** Names of the settings that the service has without them. */
  readonly settings: readonly string[];
  /** Members of the configuration file that are the service's own. */
  readonly sections: readonly string[];
  /** Why a file must not be loaded, one sentence each. Asked before it is. */
  readonly check: (file: string) => Promise<readonly string[]>;
};

/** `mistakes`: one sentence for each extension that cannot be loaded; the others are in the set. */
export type LoadedExtensions = { readonly extensions: ExtensionSet; readonly mistakes: readonly string[] };

/** The extensions of the product and those of other modules, which run inside the service. Never rejects. */
export const loadExtensions = async (options: LoadOptions): Promise<LoadedExtensions> => {
  const { names, directory, own } = options;
  if (names.length === 0) return { extensions: own, mistakes: [] };
  serveImports(directory);
  const all = [...own.all];
  const mistakes: string[] = [];
  for (const name of new Set(names)) {
    const loaded = await load(name, all, options);
    if (typeof loaded === 'string') mistakes.push(loaded);
    else all.push(loaded);
  }
  return { extensions: createExtensionSet(all), mistakes };
};

/** The extension of a module, or one sentence that says what is wrong with it. */
const load = async (name: string, all: readonly Extension[], options: LoadOptions): Promise<Extension | string> => {
  const toMistake = (problem: string): string => `EXTENSIONS: '${name}' ${problem}`;
  try {
    const url = import.meta.resolve(SCHEME + name);
    const [refusal] = await options.check(fileURLToPath(url));
    if (refusal !== undefined) return refusal;
    const module: unknown = await import(url);
    const extension = typeof module === 'object' && module !== null && 'extension' in module ? module.extension : null;
    if (!isExtension(extension))
      return toMistake('exports no extension: write export const extension = defineExtension({ … })');
    const clash = findClash(extension, all, options);
    return clash === null ? extension : toMistake(clash);
  } catch (error) {
    return toMistake(`cannot be loaded: ${toReason(error)}${toHint(name, error, options.directory)}`);
  }
};

// Node tells which of our files looked for it.
const toReason = (error: unknown): string =>
  error instanceof Error ? (error.message || error.name).replace(/ imported from .*$/, '') : String(error);

const toHint = (name: string, error: unknown, directory: string): string => {
  if (error instanceof SyntaxError && /import statement|Unexpected token 'export'/.test(error.message))
    return ': end its name with .mts or .mjs, or put "type": "module" into the package.json above it';
  return /^[^./]/.test(name) && existsSync(join(directory, name)) ? `: did you mean './${name}'?` : '';
};

/** What an extension shares with another, or with the service. */
const findClash = ({ name, settings, groups, sources }: Extension, all: readonly Extension[], options: LoadOptions) => {
  const others = createExtensionSet(all);
  const setting = Object.keys(settings).find((each) => options.settings.includes(each) || each in others.settings);
  const group = Object.keys(groups).find((each) => others.groups.has(each));
  const section = Object.keys(sources).find((each) => options.sections.includes(each) || each in others.sources);
  if (all.some((each) => each.name === name)) return `has the name of another extension, '${name}'`;
  if (setting !== undefined) return `declares ${setting}, which is a setting already`;
  if (section !== undefined) return `declares the section '${section}', which the configuration file has already`;
  return group === undefined ? null : `declares the group '${group}', which there is already`;
};

const SCHEME = 'extension:';
const OWN_NAME = /^recourse-server(?:\/|$)/;

/**
 * From now on `extension:NAME` is found as if a module in the directory imported NAME, and `recourse-server` is this
 * service wherever the importing module lies: with another copy, an extension would be none. There is no way back.
 */
const serveImports = (directory: string): void => {
  const parentURL = pathToFileURL(`${directory}/`).href;
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier.startsWith(SCHEME)) return next(specifier.slice(SCHEME.length), { ...context, parentURL });
      return next(specifier, OWN_NAME.test(specifier) ? { ...context, parentURL: import.meta.url } : context);
    },
  });
};
