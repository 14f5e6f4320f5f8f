import { createRequire } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { watchDeclarations } from '../../tools/declarations.ts';
import { findExportedTools, findLookalikes } from '../../tools/directory/exported-tools.ts';
import type { LoadedFacts, LoadFindings } from '../../tools/directory/load-tool-file.ts';
import { findPlaces, type SourcePlace } from '../../tools/directory/source-place.ts';
import { toLoadedFacts } from '../../tools/directory/to-loaded-facts.ts';
import { serveToolImports, withVersion } from '../../tools/directory/tool-imports.ts';
import type { InlineTool } from '../../tools/tool.ts';

export type LoadRequest = {
  readonly version: string;
  readonly path: string;
  readonly root: string;
  readonly sources: ReadonlyMap<string, string>;
};

export type LoadedTools = {
  readonly tools: readonly InlineTool[];
  /** What the same tools say of themselves. */
  readonly facts: readonly LoadedFacts[];
  readonly imported: readonly string[];
} & LoadFindings;

/** The modules of this process: a world of them for each version of a file. */
export type ModuleWorlds = {
  /** Imports the file into a world of its own and gives the tools it exports. Rejects with what it throws. */
  readonly load: (request: LoadRequest) => Promise<LoadedTools>;
  /** Absolute paths of the source files that this version has imported so far. */
  readonly importedOf: (version: string) => readonly string[];
  /** From now on `require` finds the modules of this version, and of no other. */
  readonly enter: (version: string) => void;
  readonly forget: (version: string) => void;
  /** Whether the version that was entered has loaded a native addon: a process has one instance of it. */
  readonly hasAddon: () => boolean;
};

type World = Pick<LoadRequest, 'root' | 'sources'> & {
  readonly imported: Set<string>;
  /** Its CommonJS modules, by path: the loader knows these by path alone, so they are there only during its turn. */
  modules: NodeJS.Dict<NodeModule>;
};

// What the service itself is made of is there once: it is the same for every file.
const PACKAGE = fileURLToPath(new URL('../../..', import.meta.url));
const SERVICE = ['src', 'dist', 'node_modules'].map((folder) => PACKAGE + folder + sep);

/** `api`: the URL of what tool files import as `recourse`. To be made once in a process. */
export const createModuleWorlds = (api: string, onBuiltin: (url: string) => void): ModuleWorlds => {
  const { cache } = createRequire(import.meta.url);
  const ofService = new Set(Object.keys(cache));
  const worlds = new Map<string, World>();
  let current = '';
  const ownPaths = (): readonly string[] => Object.keys(cache).filter((path) => !ofService.has(path));
  serveToolImports({
    api,
    onBuiltin,
    versionOf: (url) => (url !== undefined && isModuleOf(cache, ofService, url) ? current : ''),
    isOwn: (path, version) => {
      const root = worlds.get(version)?.root ?? '';
      return path.startsWith(root + sep) || !SERVICE.some((folder) => path.startsWith(folder));
    },
    sourceOf: (path, version) => worlds.get(version === '' ? current : version)?.sources.get(path),
    onImport: (path, version) => void worlds.get(version === '' ? current : version)?.imported.add(path),
  });
  return {
    load: async ({ version, path, root, sources }) => {
      const imported = new Set<string>();
      worlds.set(version, { root, sources, imported, modules: {} });
      const declared = new Map<InlineTool, readonly SourcePlace[]>();
      const stop = watchDeclarations(({ tool, stack }) => void declared.set(tool, findPlaces(stack, root)));
      const importing: Promise<object> = import(withVersion(pathToFileURL(path).href, version));
      const module = await importing.finally(stop);
      return { ...toFindings(module, path, declared), imported: [...imported] };
    },
    importedOf: (version) => [...(worlds.get(version)?.imported ?? [])],
    enter: (version) => {
      const before = worlds.get(current);
      if (before !== undefined) before.modules = Object.fromEntries(ownPaths().map((path) => [path, cache[path]]));
      for (const path of ownPaths()) delete cache[path];
      Object.assign(cache, worlds.get(version)?.modules);
      current = version;
    },
    forget: (version) => void worlds.delete(version),
    hasAddon: () => ownPaths().some((path) => path.endsWith('.node')),
  };
};

const toFindings = (
  module: object,
  path: string,
  declared: ReadonlyMap<InlineTool, readonly SourcePlace[]>,
): Omit<LoadedTools, 'imported'> => {
  const tools = findExportedTools(module);
  const exported = new Set(tools);
  const served = new Set(tools.map(({ role, name }) => `${role} ${name}`));
  const placesOf = (tool: InlineTool): readonly SourcePlace[] => declared.get(tool) ?? [];
  // What another file declares, which this one imports, is that file's to export.
  const unexported = [...declared.keys()].filter(
    (tool) =>
      !(exported.has(tool) || served.has(`${tool.role} ${tool.name}`)) &&
      placesOf(tool).some((place) => place.path === path),
  );
  const toFacts = (tool: InlineTool): LoadedFacts => toLoadedFacts(tool, placesOf(tool)[0] ?? null);
  return {
    tools,
    facts: tools.map(toFacts),
    unexported: unexported.map(toFacts),
    lookalikes: findLookalikes(module),
  };
};

const isModuleOf = (cache: NodeJS.Dict<NodeModule>, ofService: ReadonlySet<string>, url: string): boolean => {
  if (!url.startsWith('file:')) return false;
  const path = fileURLToPath(url);
  return Object.hasOwn(cache, path) && !ofService.has(path);
};
