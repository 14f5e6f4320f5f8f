import { posix } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { FileNotFoundError, unlessUnreadable } from './file-errors.ts';
import { withPlace } from './place.ts';
import { type Entry, readEntries } from './read-entries.ts';
import { walk } from './walk.ts';
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
  const found = await unlessUnreadable(
    withPlace(workspace, dir || '.', (place) => readEntries(place, MAX_NAMES, signal)),
  );
  const [nearest] = (found?.entries ?? [])
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
  for await (const step of walk(workspace, '.', { maxEntries: MAX_NAMES, signal }))
    if (step.type !== 'cut_short' && isWanted(step.type, wanted) && posix.basename(step.path).toLowerCase() === name)
      return step.path;
  return undefined;
};
