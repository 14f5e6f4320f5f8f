import { posix } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { LRUCache } from 'lru-cache';
import { FileNotFoundError, unlessUnreadable } from './file-errors.ts';
import { type Entry, readEntries } from './read-entries.ts';
import { type Step, walk } from './walk.ts';
import { withPlace } from './with-place.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

// A suggestion is a courtesy: it may look at this many names, a few milliseconds' worth, in each of two places.
const MAX_NAMES = 2000;

export type Missing = {
  readonly wanted: 'file' | 'directory' | 'file or directory';
  readonly path: string;
  readonly hint: string;
  readonly cause: unknown;
  readonly signal: AbortSignal;
};

/** `there is no file 'note.md' in the workspace. Did you mean 'notes.md'?` The question only where something is near. */
export const toMissing = async (workspace: Workspace, missing: Missing): Promise<FileNotFoundError> => {
  const { wanted, path, hint, cause } = missing;
  const near = (await findNeighbour(workspace, missing)) ?? (await findNamesake(workspace, missing));
  const question = near === undefined ? '' : ` Did you mean ${quotePath(near)}?`;
  return new FileNotFoundError(`there is no ${wanted} ${quotePath(path)} in the workspace.${question}`, {
    hint,
    cause,
  });
};

/** The nearest name in the same directory. */
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

/** The same name somewhere else. */
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
