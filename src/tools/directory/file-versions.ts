import { relative } from 'node:path';
import type { InlineTool, ToolFile } from '../tool.ts';
import { describeFailed, findProblems, type IsAllowed } from './find-problems.ts';
import { type LoadProblem, toPlainProblem } from './load-problem.ts';
import type { LoadedFacts, LoadedToolFile } from './load-tool-file.ts';
import { type DirectorySnapshot, isToolFile } from './read-directory.ts';

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

type Parts = Pick<FileVersion, 'tools' | 'inline'>;

/** The tool as it runs inside the service; undefined where it runs in a host. Reducers always do. */
export const findInline = ({ inline }: Pick<Parts, 'inline'>, { role, name }: LoadedFacts): InlineTool | undefined =>
  role === 'tool' ? inline.get(name) : undefined;

/** Whether anything of this version runs outside of the service. */
export const needsHosts = (parts: Parts): boolean =>
  parts.tools.some((facts) => facts.inlineOnly === null && findInline(parts, facts) === undefined);

/** What is known of one tool file. */
export type FileState = {
  /** The last version that could be loaded; it serves. */
  readonly good: FileVersion | null;
  /** Why the newest version cannot be loaded. Null where `good` is the newest. */
  readonly failure: LoadProblem | null;
  /** What is wrong with `good`, beside that it may not be the newest. */
  readonly problems: readonly LoadProblem[];
};

/** By path relative to the directory: a directory that is replaced as a whole keeps its files' names. */
export type FileStates = ReadonlyMap<string, FileState>;

/** Files by what serves of them: their newest version, an older one because that cannot be loaded, or nothing. */
export type FileCounts = Readonly<Record<'serving' | 'stale' | 'unavailable', number>>;

export const countFiles = (states: FileStates): FileCounts => {
  const counts = { serving: 0, stale: 0, unavailable: 0 };
  for (const { good, failure } of states.values()) {
    if (failure === null) counts.serving += 1;
    else if (good === null) counts.unavailable += 1;
    else counts.stale += 1;
  }
  return counts;
};

export type LoadVersion = (
  file: ToolFile,
) => Promise<
  | (Extract<LoadedToolFile, { kind: 'loaded' }> & Pick<FileVersion, 'inline'>)
  | Extract<LoadedToolFile, { kind: 'failed' }>
>;

export type LoadOptions = {
  readonly load: LoadVersion;
  readonly loadsAtOnce: number;
  /** Whether tools may have the variable of this name. */
  readonly isAllowed: IsAllowed;
};

/**
 * What is known of the tool files of a new snapshot. A file of which nothing changed that it imports stays the very
 * version that it was; others are loaded, `loadsAtOnce` of them together.
 */
export const loadChangedFiles = async (
  before: FileStates,
  snapshot: DirectorySnapshot,
  { loadsAtOnce, ...options }: LoadOptions,
): Promise<FileStates> => {
  const paths = [...snapshot.sources.keys(), ...snapshot.unreadable.keys()].filter(isToolFile).sort();
  const states = new Map<string, FileState>();
  // Set now, so that the order does not depend on which file is loaded first.
  for (const path of paths) states.set(relative(snapshot.root, path), { good: null, failure: null, problems: [] });
  const waiting = paths.values();
  const loadNext = async (): Promise<void> => {
    for (const path of waiting) {
      const name = relative(snapshot.root, path);
      states.set(name, await toState(path, before.get(name), snapshot, options));
    }
  };
  await Promise.all(Array.from({ length: loadsAtOnce }, loadNext));
  return states;
};

const toState = async (
  path: string,
  { good, failure: _failure, problems }: FileState = { good: null, failure: null, problems: [] },
  snapshot: DirectorySnapshot,
  { load, isAllowed }: Pick<LoadOptions, 'load' | 'isAllowed'>,
): Promise<FileState> => {
  const unreadable = snapshot.unreadable.get(path);
  if (unreadable !== undefined)
    return { good, failure: toPlainProblem(relative(snapshot.root, path), `The file ${unreadable}.`), problems };
  if (good !== null && isUnchanged(good, snapshot)) return { good, failure: null, problems };
  const file: ToolFile = { path, root: snapshot.root, sources: snapshot.sources };
  const loaded = await load(file);
  if (loaded.kind === 'failed') return { good, failure: describeFailed(file, loaded), problems };
  const { tools, imported, inline } = loaded;
  return { good: { file, tools, imported, inline }, failure: null, problems: findProblems(file, loaded, isAllowed) };
};

// Of a file that failed it is not known what it imports, so it is tried again after every change. A directory that was
// swapped by its link has other paths, and so nothing of it is unchanged.
const isUnchanged = ({ file, imported }: FileVersion, { sources }: DirectorySnapshot): boolean =>
  [file.path, ...imported].every((path) => sources.get(path) === file.sources.get(path));
