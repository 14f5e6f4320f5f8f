import { posix } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { LRUCache } from 'lru-cache';
import { explainFileErrors, FileNotFoundError, unlessCode, unlessUnreadable } from './file-errors.ts';
import { withPlace } from './place.ts';
import { type Entries, type Entry, readEntries } from './read-entries.ts';
import { findSameLook } from './same-look.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

/** One step of a walk; `cut_short` comes at most once, last, and says that there is more than the limit allowed. */
type Step = { readonly type: 'file' | 'directory'; readonly path: string } | { readonly type: 'cut_short' };

type WalkLimits = { readonly maxEntries: number; readonly signal: AbortSignal };

// Machines fill these, and they would eat every limit before the first file that a person wrote.
export const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * Files and directories below `start`, the nearer ones first, by name within a directory. Follows no symbolic link,
 * so it cannot go in circles; passes over directories it cannot read, `.git` and `node_modules`.
 */
async function* walk(workspace: Workspace, start: string, limits: WalkLimits): AsyncGenerator<Step> {
  const queue = [start];
  let left = limits.maxEntries;
  for (const directory of queue) {
    const { entries, complete } = await readBelow(workspace, directory, { ...limits, maxEntries: left });
    const steps = entries.flatMap((entry) => toSteps(directory, entry));
    queue.push(...steps.filter(({ type }) => type === 'directory').map(({ path }) => path));
    yield* steps;
    if (!complete) return yield { type: 'cut_short' };
    left -= entries.length;
  }
}

const NOTHING: Entries = { entries: [], complete: true };

const readBelow = async (workspace: Workspace, directory: string, limits: WalkLimits): Promise<Entries> => {
  const reading = withPlace(workspace, directory, (place) => readEntries(place, limits.maxEntries, limits.signal));
  return (await unlessUnreadable(reading)) ?? NOTHING;
};

const toSteps = (directory: string, { name, type }: Entry) => {
  if (type !== 'file' && type !== 'directory') return [];
  if (type === 'directory' && SKIPPED.has(name)) return [];
  return [{ type, path: directory === '.' ? name : `${directory}/${name}` }];
};

// A suggestion is a courtesy: it may look at this many names, a few milliseconds' worth, in each of two places.
const MAX_NAMES = 2000;

type Missing = {
  readonly wanted: 'file' | 'directory' | 'file or directory';
  readonly path: string;
  readonly hint: string;
  readonly cause: unknown;
  readonly signal: AbortSignal;
};

/**
 * As `tellFileErrors`, for `work` at a path that must exist. Where nothing lies under it, what has a name of the same look is
 * taken; where there is none, the message names what may have been meant.
 */
export const explainWithNearNames = <T>(
  workspace: Workspace,
  missing: Omit<Missing, 'cause'>,
  work: (path: string) => Promise<T>,
): Promise<T> => {
  const { path, signal } = missing;
  return explainFileErrors({ path, toMissing: (cause) => toMissing(workspace, { ...missing, cause }) }, async () => {
    const found = await unlessCode('ENOENT', unlessCode('ENOTDIR', work(path)));
    return found ?? (await work(await findSameLook(workspace, path, { use: 'read', signal })));
  });
};

/** `there is no file 'note.md' in the workspace. Did you mean 'notes.md'?` The question only where something is near. */
const toMissing = async (workspace: Workspace, missing: Missing): Promise<FileNotFoundError> => {
  const { wanted, path, hint, cause } = missing;
  const near = (await findNeighbour(workspace, missing)) ?? (await findNamesake(workspace, missing));
  const question = near === undefined ? '' : ` Did you mean ${quotePath(near)}?`;
  return new FileNotFoundError(`there is no ${wanted} ${quotePath(path)} in the workspace.${question}`, {
    hint,
    cause,
  });
};

const findNeighbour = async (workspace: Workspace, { wanted, path, signal }: Missing): Promise<string | undefined> => {
  const { dir, base, name } = posix.parse(path);
  const [nearest] = (await listDirectory(workspace, dir || '.', signal))
    .filter((entry) => isWanted(entry.type, wanted))
    .map((entry) => ({ name: entry.name, far: distance(base.toLowerCase(), entry.name.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return nearest !== undefined && nearest.far <= toReach(name) ? posix.join(dir, nearest.name) : undefined;
};

const isWanted = (type: Entry['type'], wanted: Missing['wanted']): boolean =>
  type === wanted || (wanted === 'file or directory' && (type === 'file' || type === 'directory'));

// Measured by the name without its ending: in 'a.md' one typing error leaves nothing that was meant.
const toReach = (name: string): number => (name.length < 2 ? 0 : Math.max(1, Math.floor(name.length / 3)));

const findNamesake = async (workspace: Workspace, { wanted, path, signal }: Missing): Promise<string | undefined> => {
  const name = posix.basename(path).toLowerCase();
  const tree = await listTree(workspace, signal);
  return tree.find((step) => isWanted(step.type, wanted) && posix.basename(step.path).toLowerCase() === name)?.path;
};

// A model that guesses names asks again and again, and most of what such a call costs is reading directories.
const REMEMBERED_MS = 1000;
// Names, over all directories of one workspace.
const MOST_REMEMBERED = 10_000;

type Listed<Item> = LRUCache<string, readonly Item[]>;

const createListed = <Item>(): Listed<Item> =>
  new LRUCache({ ttl: REMEMBERED_MS, maxSize: MOST_REMEMBERED, sizeCalculation: (items) => items.length + 1 });

type TreeStep = Exclude<Step, { readonly type: 'cut_short' }>;

const listings = new WeakMap<Workspace, { readonly directories: Listed<Entry>; readonly trees: Listed<TreeStep> }>();

const listingsOf = (workspace: Workspace) => {
  const known = listings.get(workspace) ?? { directories: createListed<Entry>(), trees: createListed<TreeStep>() };
  listings.set(workspace, known);
  return known;
};

/** The first names of a directory, as they were within the last second; none where it cannot be read. */
const listDirectory = async (workspace: Workspace, path: string, signal: AbortSignal): Promise<readonly Entry[]> => {
  const { directories } = listingsOf(workspace);
  const known = directories.get(path);
  if (known !== undefined) return known;
  const found = await unlessUnreadable(withPlace(workspace, path, (place) => readEntries(place, MAX_NAMES, signal)));
  const entries = found?.entries ?? [];
  directories.set(path, entries);
  return entries;
};

/** The first files and directories of the workspace, as they were within the last second. */
const listTree = async (workspace: Workspace, signal: AbortSignal): Promise<readonly TreeStep[]> => {
  const { trees } = listingsOf(workspace);
  const known = trees.get('.');
  if (known !== undefined) return known;
  const steps: TreeStep[] = [];
  for await (const step of walk(workspace, '.', { maxEntries: MAX_NAMES, signal }))
    if (step.type !== 'cut_short') steps.push(step);
  trees.set('.', steps);
  return steps;
};
