import { posix } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { errorCodeOf, explainFileErrors, FileNotFoundError, unlessUnreadable } from './file-errors.ts';
import { withPlace } from './place.ts';
import { type Entry, readEntries } from './read-entries.ts';
import { findSameLook } from './same-look.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

// Machines fill these, and they would eat every limit before the first file that a person wrote.
export const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

// A suggestion is a courtesy: it may look at this many names, a few milliseconds' worth, in each of two places.
const MAX_NAMES = 2000;
// A suggestion may be this old, and is not remembered beyond so many names of a workspace, about a megabyte.
const REMEMBERED_MS = 1000;
const MAX_REMEMBERED_NAMES = 10_000;

const MISSING_CODES: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

type Missing = {
  readonly wanted: 'file' | 'directory' | 'file or directory';
  readonly path: string;
  readonly hint: string;
  readonly signal: AbortSignal;
};

/**
 * As `tellFileErrors`, for `work` at a path that must exist. Where nothing lies under it, what has a name of the same look is
 * taken; where there is none, the message names what may have been meant.
 */
export const explainWithNearNames = <T>(
  workspace: Workspace,
  missing: Missing,
  work: (path: string) => Promise<T>,
): Promise<T> => {
  const { path, signal } = missing;
  const createMissingError = (cause: unknown): Promise<Error> => explainMissing(workspace, missing, cause);
  return explainFileErrors({ path, createMissingError }, async () => {
    try {
      return await work(path);
    } catch (thrown) {
      if (!MISSING_CODES.has(errorCodeOf(thrown))) throw thrown;
      const alike = await findSameLook(workspace, path, { use: 'read', signal });
      if (alike === path) throw thrown;
      return await work(alike);
    }
  });
};

/** `there is no file 'note.md' in the workspace. Did you mean 'notes.md'?` The question only where something is near. */
const explainMissing = async (workspace: Workspace, missing: Missing, cause: unknown): Promise<Error> => {
  const { wanted, path, hint } = missing;
  const near = (await findNeighbour(workspace, missing)) ?? (await findNamesake(workspace, missing));
  const question = near === undefined ? '' : ` Did you mean ${quotePath(near)}?`;
  return new FileNotFoundError(`there is no ${wanted} ${quotePath(path)} in the workspace.${question}`, {
    hint,
    cause,
  });
};

const isWanted = (type: Entry['type'], wanted: Missing['wanted']): boolean =>
  type === wanted || (wanted === 'file or directory' && (type === 'file' || type === 'directory'));

type Listings = { readonly until: number; names: number; readonly byPath: Map<string, readonly Entry[]> };

const listings = new WeakMap<Workspace, Listings>();

/** What was listed of a workspace in the last second: a model that guesses paths would read every directory each time. */
const findListings = (workspace: Workspace): Listings => {
  const now = performance.now();
  const known = listings.get(workspace);
  if (known !== undefined && now < known.until && known.names < MAX_REMEMBERED_NAMES) return known;
  const empty = { until: now + REMEMBERED_MS, names: 0, byPath: new Map() };
  listings.set(workspace, empty);
  return empty;
};

/** The first names of a directory, as they were within the last second; none where it cannot be read. */
const listNames = async (workspace: Workspace, path: string, signal: AbortSignal): Promise<readonly Entry[]> => {
  const remembered = findListings(workspace);
  const known = remembered.byPath.get(path);
  if (known !== undefined) return known;
  const found = await unlessUnreadable(withPlace(workspace, path, (place) => readEntries(place, MAX_NAMES, signal)));
  const entries = found?.entries ?? [];
  remembered.byPath.set(path, entries);
  remembered.names += entries.length + 1;
  return entries;
};

/** What lies in the same directory under the nearest name. */
const findNeighbour = async (workspace: Workspace, { wanted, path, signal }: Missing): Promise<string | undefined> => {
  const { dir, base, name } = posix.parse(path);
  // Measured by the name without its ending: in 'a.md' one typing error leaves nothing that was meant.
  const reach = name.length < 2 ? 0 : Math.max(1, Math.floor(name.length / 3));
  const [nearest] = (await listNames(workspace, dir || '.', signal))
    .filter(({ type }) => isWanted(type, wanted))
    .map((entry) => ({ name: entry.name, far: distance(base.toLowerCase(), entry.name.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return nearest !== undefined && nearest.far <= reach ? posix.join(dir, nearest.name) : undefined;
};

/**
 * What has the same name elsewhere in the workspace, the nearer to its root first. Follows no symbolic link, so it cannot go
 * in circles; passes over directories it cannot read, `.git` and `node_modules`.
 */
const findNamesake = async (workspace: Workspace, { wanted, path, signal }: Missing): Promise<string | undefined> => {
  const name = posix.basename(path).toLowerCase();
  const directories = ['.'];
  let left = MAX_NAMES;
  for (const directory of directories) {
    if (left <= 0) return undefined;
    const entries = (await listNames(workspace, directory, signal)).slice(0, left);
    left -= entries.length;
    const shown = entries.filter((entry) => entry.type === 'file' || isWalked(entry));
    const namesake = shown.find((entry) => isWanted(entry.type, wanted) && entry.name.toLowerCase() === name);
    if (namesake !== undefined) return posix.join(directory, namesake.name);
    directories.push(...shown.filter(isWalked).map((entry) => posix.join(directory, entry.name)));
  }
  return undefined;
};

const isWalked = ({ name, type }: Entry): boolean => type === 'directory' && !SKIPPED.has(name);
