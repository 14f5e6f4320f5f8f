import { createRequire, type ModuleSource, stripTypeScriptTypes } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { OWN_CODE } from 'recourse-server/files/own-package';
import { readDefinitionError, watchDeclarations } from 'recourse-server/tools/define-tool';
import type { InlineTool } from 'recourse-server/tools/tool';
import { findPlaceOfSyntax, findPlaces, type SourcePlace } from '../directory/load-problem.ts';
import { findExportedTools, findLookalikes, pickFacts, type ThrownAtLoad } from '../directory/load-tool-file.ts';
import { serveToolImports, withoutVersions, withVersion } from '../directory/tool-imports.ts';
import { describeThrown } from './answer-call.ts';
import { MENTIONS_WEB } from './shared-objects.ts';

type LoadRequest = {
  readonly version: string;
  readonly path: string;
  readonly root: string;
  readonly sources: ReadonlyMap<string, string>;
};

/** `body`: what the tools of the file say of themselves, as JSON. */
type LoadedTools = { readonly tools: readonly InlineTool[]; readonly body: string };

/** The modules of this process: a world of them for each version of a file. */
type ModuleWorlds = ReturnType<typeof createModuleWorlds>;

type World = Pick<LoadRequest, 'root' | 'sources'> & {
  readonly imported: Set<string>;
  /** Its CommonJS modules, by path: the loader knows these by path alone, so they are there only while it runs. */
  modules: NodeJS.Dict<NodeModule>;
};

/**
 * `api`: the URL of what tool files import as `recourse-server`. Code of tools is about to have a module of Node (`onBuiltin`), or
 * what asks something of the web, such as `fetch` (`onWeb`). To be made once in a process.
 */
export const createModuleWorlds = (
  api: string,
  { onBuiltin, onWeb }: { readonly onBuiltin: (url: string) => void; readonly onWeb: () => void },
) => {
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
      // What the service itself is made of is there once: it is the same for every file.
      return path.startsWith(root + sep) || !OWN_CODE.some((folder) => path.startsWith(folder));
    },
    sourceOf: (path, version) => worlds.get(version === '' ? current : version)?.sources.get(path),
    onCode: (source) => {
      if (source === null || MENTIONS_WEB.test(toText(source))) onWeb();
    },
    onImport: (path, version) => void worlds.get(version === '' ? current : version)?.imported.add(path),
  });
  return {
    /** Imports the file into a world of its own and gives the tools it exports. Rejects with what it throws. */
    load: async ({ version, path, root, sources }: LoadRequest): Promise<LoadedTools> => {
      const imported = new Set<string>();
      worlds.set(version, { root, sources, imported, modules: {} });
      const declared = new Map<InlineTool, readonly SourcePlace[]>();
      const stop = watchDeclarations(({ tool, stack }) => void declared.set(tool, findPlaces(stack, root)));
      const importing: Promise<object> = import(withVersion(pathToFileURL(path).href, version));
      const module = await importing.finally(stop);
      return describeTools(module, path, declared, [...imported]);
    },
    /** Absolute paths of the source files that this version has imported so far. */
    importedOf: (version: string): readonly string[] => [...(worlds.get(version)?.imported ?? [])],
    /** From now on `require` finds the modules of this version, and of no other. */
    enter: (version: string): void => {
      const before = worlds.get(current);
      if (before !== undefined) before.modules = Object.fromEntries(ownPaths().map((path) => [path, cache[path]]));
      for (const path of ownPaths()) delete cache[path];
      Object.assign(cache, worlds.get(version)?.modules);
      current = version;
    },
    forget: (version: string): void => void worlds.delete(version),
    /** Whether the version that was entered has loaded a native addon: a process has one instance of it. */
    hasAddon: (): boolean => ownPaths().some((path) => path.endsWith('.node')),
  };
};

const describeTools = (
  module: object,
  path: string,
  declared: ReadonlyMap<InlineTool, readonly SourcePlace[]>,
  imported: readonly string[],
): LoadedTools => {
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
  const describe = (tool: InlineTool): object => pickFacts(tool, placesOf(tool)[0] ?? null);
  const findings = { unexported: unexported.map(describe), lookalikes: findLookalikes(module) };
  return { tools, body: JSON.stringify({ tools: tools.map(describe), imported, ...findings }) };
};

const toText = (source: ModuleSource): string =>
  typeof source === 'string' ? source : new TextDecoder('latin1').decode(source);

const isModuleOf = (cache: NodeJS.Dict<NodeModule>, ofService: ReadonlySet<string>, url: string): boolean => {
  if (!url.startsWith('file:')) return false;
  const path = fileURLToPath(url);
  return Object.hasOwn(cache, path) && !ofService.has(path);
};

// No more fits a message. The service shows 500 characters.
const MAX_REASON = 8000;

/** `imported`: what had been imported when it failed. */
type Surroundings = Pick<LoadRequest, 'root' | 'sources'> & { readonly imported: readonly string[] };

/** Loads a file, or says why that failed. Never rejects. */
export const loadFile = (worlds: ModuleWorlds, request: LoadRequest) =>
  worlds.load(request).then(
    (found) => ({ ok: true, ...found }) as const,
    (thrown) => describeFailedLoad(thrown, { ...request, imported: worlds.importedOf(request.version) }),
  );

/** Why a file could not be loaded: what it threw, and because of what; and as JSON, what the service explains it by. */
const describeFailedLoad = (thrown: unknown, surroundings: Surroundings) => {
  const parts = describeThrown(thrown);
  const said = parts.map(({ name, message }, place) => {
    const part = `${name}: ${message}`;
    return place < parts.length - 1 ? part.replace(/\.$/, '') : part;
  });
  const reason = withoutVersions(said.join(', because of ')).slice(0, MAX_REASON);
  const body = JSON.stringify(describeThrownAtLoad(thrown, surroundings) satisfies ThrownAtLoad);
  return { ok: false, reason: reason || 'the value it threw cannot be read', body } as const;
};

const describeThrownAtLoad = (thrown: unknown, surroundings: Surroundings): ThrownAtLoad => {
  const [first = { name: '', message: '', stack: '' }] = describeThrown(thrown);
  const refused = readDefinitionError(thrown);
  return {
    name: first.name,
    message: withoutVersions(first.message),
    code: thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : null,
    tool: refused?.tool ?? null,
    member: refused?.member ?? null,
    place: findPlace(thrown, first.stack, surroundings),
  };
};

const findPlace = (thrown: unknown, stack: string, { root, sources, imported }: Surroundings): SourcePlace | null => {
  const place = findPlaceOfSyntax(stack, root) ?? findPlaces(stack, root)[0] ?? null;
  if (place !== null || !(thrown instanceof SyntaxError)) return place;
  // V8 gives no place in a module of JavaScript: the type stripper reads that as well, and its error has the place.
  for (const path of imported) {
    const found = findStumble(path, sources.get(path) ?? '', root);
    if (found !== null) return found;
  }
  return null;
};

const findStumble = (path: string, text: string, root: string): SourcePlace | null => {
  try {
    stripTypeScriptTypes(text);
    return null;
  } catch (error) {
    const [{ stack } = { stack: '' }] = describeThrown(error);
    return findPlaceOfSyntax(`${path}${stack}`, root);
  }
};
