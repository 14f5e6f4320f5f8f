import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isNestedDeeper, MOST_SCHEMA_LEVELS } from 'recourse-server/tools/schema-check';
import type { InlineTool, ToolFacts, ToolFile } from 'recourse-server/tools/tool';
import { describeFailed, findProblems } from './find-problems.ts';
import { createPlainProblem, type LoadProblem } from './load-problem.ts';
import type { LoadedFacts } from './load-tool-file.ts';
import {
  type BrokenLoad,
  type FailedFile,
  findExportedTools,
  type LoadedFile,
  type ToolFileHosts,
} from './load-tool-file.ts';
import { type DirectorySnapshot, isToolFile } from './read-directory.ts';
import { isOwnSource, serveToolImports, withVersion } from './tool-imports.ts';

/** A tool file as it was when it could be loaded. */
export type FileVersion = {
  readonly file: ToolFile;
  /** Tools and reducers. */
  readonly tools: readonly LoadedFacts[];
  /** Those of its tools that run inside the service, by name. */
  readonly inline: ReadonlyMap<string, InlineTool>;
  /** Absolute paths of what loading it took. */
  readonly imported: readonly string[];
};

/** The tool as it runs inside the service; undefined where it runs in a host. Reducers always do. */
export const findInline = (
  { inline }: Pick<FileVersion, 'inline'>,
  { role, name }: LoadedFacts,
): InlineTool | undefined => (role === 'tool' ? inline.get(name) : undefined);

/** Whether anything of this version runs outside of the service. */
export const needsHosts = (version: Pick<FileVersion, 'tools' | 'inline'>): boolean =>
  version.tools.some((facts) => facts.inlineOnly === null && findInline(version, facts) === undefined);

/** What is known of one tool file. */
export type FileState = {
  /** The last version that could be loaded; it serves. */
  readonly good: FileVersion | null;
  /** Why the newest version cannot be loaded. Null where `good` is the newest. */
  readonly failure: LoadProblem | null;
  /** That is so because of its process: the next try may work, although nothing changes. */
  readonly isBroken: boolean;
  /** What is wrong with `good`, beside that it may not be the newest. */
  readonly problems: readonly LoadProblem[];
  /** Names of its tools where it never loaded, as far as its text has them. */
  readonly declared: readonly string[];
};

/** By path relative to the directory: a directory that is replaced as a whole keeps its files' names. */
export type FileStates = ReadonlyMap<string, FileState>;

export type DirectoryLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

type InlineTools = {
  /** Names of tools that may run inside the service. */
  readonly allowed: ReadonlySet<string>;
  /** Imports the file into this process and gives its tools. Rejects where that fails. */
  readonly load: (file: ToolFile) => Promise<readonly InlineTool[]>;
};

export type LoadOptions = {
  readonly hosts: ToolFileHosts;
  readonly inline: InlineTools;
  readonly log: DirectoryLog;
  /** How many files are asked for together. Default 32: enough that the processes that load them need not wait for the next one. */
  readonly loadsAtOnce?: number;
  /** Whether tools may have the variable of this name; left out: none may. */
  readonly isAllowed?: (name: string) => boolean;
};

/**
 * What is known of the tool files of a new snapshot. A file of which nothing changed that it imports stays the very
 * version that it was; others are loaded, `loadsAtOnce` of them together. `broken`: nothing changed, and only those are tried again.
 */
export const loadChangedFiles = async (
  before: FileStates,
  snapshot: DirectorySnapshot,
  options: LoadOptions,
  which: 'changed' | 'broken' = 'changed',
): Promise<FileStates> => {
  const paths = [...snapshot.sources.keys(), ...snapshot.unreadable.keys()].filter(isToolFile).sort();
  const states = new Map<string, FileState>();
  // Set now, so that the order does not depend on which file is loaded first.
  for (const path of paths) states.set(relative(snapshot.root, path), NOTHING_KNOWN);
  const waiting = paths.values();
  const loadNext = async (): Promise<void> => {
    for (const path of waiting) {
      const name = relative(snapshot.root, path);
      const known = before.get(name);
      const isKept = which === 'broken' && known?.isBroken === false;
      states.set(name, isKept ? known : await loadState(path, known, snapshot, options));
    }
  };
  await Promise.all(Array.from({ length: options.loadsAtOnce ?? 32 }, loadNext));
  return states;
};

const NOTHING_KNOWN: FileState = { good: null, failure: null, isBroken: false, problems: [], declared: [] };

const loadState = async (
  path: string,
  { good, problems }: FileState = NOTHING_KNOWN,
  { root, sources, unreadable }: DirectorySnapshot,
  options: LoadOptions,
): Promise<FileState> => {
  const reason = unreadable.get(path);
  const declared = good === null ? findNames(sources.get(path) ?? '') : [];
  const known = { good, failure: null, isBroken: false, problems, declared };
  if (reason !== undefined)
    return { ...known, failure: createPlainProblem(relative(root, path), `The file ${reason}.`) };
  if (good !== null && isUnchanged(good, sources)) return known;
  const file: ToolFile = { path, root, sources };
  const loaded = await loadVersion(file, options);
  if (loaded.kind !== 'loaded') {
    const failure = describeFailed(file, { thrown: null, ...loaded });
    return { ...known, failure, isBroken: loaded.kind === 'broken' };
  }
  const { tools, imported, inline } = loaded;
  const found = findProblems(file, loaded, options.isAllowed ?? (() => false));
  return { ...known, good: { file, tools, imported, inline }, problems: found, declared: [] };
};

// Comments are passed over; `//` within a URL begins none.
const NAME_IN_TEXT =
  /\/\*[\s\S]*?(?:\*\/|$)|(?<!\S)\/\/[^\n]*|\bname['"]?\s*:\s*(?<quote>['"`])(?<name>[\w.-]{1,64})\k<quote>/g;
// Each becomes a label of metrics.
const MOST_NAMES = 100;

/** The values of `name: '…'` in the text of a file that cannot be asked what its tools are called. */
const findNames = (text: string): readonly string[] => {
  const names = [...text.matchAll(NAME_IN_TEXT)].flatMap(({ groups }) => groups?.['name'] ?? []);
  return [...new Set(names)].slice(0, MOST_NAMES);
};

// Of a file that failed it is not known what it imports, so it is tried again after every change. A directory that was
// swapped by its link has other paths, and so nothing of it is unchanged.
const isUnchanged = ({ file, imported }: FileVersion, sources: DirectorySnapshot['sources']): boolean =>
  [file.path, ...imported].every((path) => sources.get(path) === file.sources.get(path));

type LoadedVersion = LoadedFile & Pick<FileVersion, 'inline'>;

/** Loads in a process of its own; and where a tool asks for it and the operator names it, inside the service as well. */
const loadVersion = async (file: ToolFile, options: LoadOptions): Promise<LoadedVersion | FailedFile | BrokenLoad> => {
  const { hosts } = options;
  const inHost = await hosts.load(file);
  if (inHost.kind !== 'loaded') return inHost;
  const loaded = await loadInline(file, inHost, options);
  // The process that loaded it would wait for calls that never come.
  if (loaded.kind === 'failed' || !needsHosts(loaded)) hosts.retire(file);
  return loaded;
};

const loadInline = async (
  file: ToolFile,
  loaded: LoadedFile,
  { inline, log }: LoadOptions,
): Promise<LoadedVersion | FailedFile> => {
  const tooDeep = loaded.tools.find(isTooDeep);
  if (tooDeep !== undefined)
    return createFailed(`Tool '${tooDeep.name}': its schema is nested more than ${MOST_SCHEMA_LEVELS} levels deep.`);
  const asking = loaded.tools.filter(({ isolation }) => isolation === 'inline').map(({ name }) => name);
  const allowed = new Set(asking.filter((name) => inline.allowed.has(name)));
  for (const name of asking.filter((asked) => !allowed.has(asked)))
    log.warn(
      { tool: name, file: relative(file.root, file.path) },
      'tool runs in a separate process: TOOLS_INLINE does not name it',
    );
  if (allowed.size === 0) return { ...loaded, inline: new Map() };
  return inline.load(file).then(
    (tools) => {
      const offered = tools.filter(({ role, name }) => role === 'tool' && allowed.has(name));
      const byName = new Map(offered.map((tool) => [tool.name, tool]));
      const missing = [...allowed].find((name) => !byName.has(name));
      return missing === undefined
        ? { ...loaded, inline: byName }
        : createFailed(`${NOT_INLINE}: the service does not find the tool '${missing}' in it`);
    },
    (error: unknown) => createFailed(`${NOT_INLINE}: ${error instanceof Error ? error.message : String(error)}`),
  );
};

const NOT_INLINE = 'It cannot be loaded inside the service';

const createFailed = (reason: string): FailedFile => ({ kind: 'failed', reason, thrown: null });

// `defineTool` refuses it, too; but what it made may have been changed by its file.
const isTooDeep = ({ inputSchema, outputSchema }: ToolFacts): boolean =>
  [inputSchema, outputSchema].some((schema) => isNestedDeeper(schema, MOST_SCHEMA_LEVELS));

const INLINE_LOAD_MS = 2000;

/**
 * Imports tool files into this process, for tools that the operator trusts as much as the service; rejects where a
 * file throws, or awaits for more than 2 s. `api` is the URL of what `recourse-server` means to them. Once it was used, the
 * module loader of this process knows that name for good.
 */
export const createInlineLoader = ({ api }: { readonly api: string }): InlineTools['load'] => {
  /** Version → the root of the directory that it was loaded from. */
  const roots = new Map<string, string>();
  return async (file) => {
    if (roots.size === 0) serveVersions(api, roots);
    const version = String(roots.size + 1);
    roots.set(version, file.root);
    const loading: Promise<unknown> = import(withVersion(pathToFileURL(file.path).href, version));
    const { promise, reject } = Promise.withResolvers<never>();
    const late = new Error(`loading did not end within ${INLINE_LOAD_MS} ms`);
    const timer = setTimeout(() => reject(late), INLINE_LOAD_MS);
    const exports = await Promise.race([loading, promise]).finally(() => clearTimeout(timer));
    return typeof exports === 'object' && exports !== null ? findExportedTools(exports) : [];
  };
};

/** A module is loaded once per URL, so what a new version imports from its directory gets a new URL as well. */
const serveVersions = (api: string, roots: ReadonlyMap<string, string>): void =>
  serveToolImports({
    api,
    versionOf: () => '',
    isOwn: (path, version) => {
      const root = roots.get(version);
      return root !== undefined && isOwnSource(path, root);
    },
    sourceOf: () => undefined,
    onImport: () => undefined,
    onBuiltin: () => undefined,
  });
