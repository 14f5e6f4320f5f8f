import { unlessUnreadable } from './file-errors.ts';
import { type Entries, type Entry, readEntries } from './read-entries.ts';
import { withPlace } from './with-place.ts';
import type { Workspace } from './workspace.ts';

/** One step of a walk; `cut_short` comes at most once, last, and says that there is more than the limit allowed. */
export type Step = { readonly type: 'file' | 'directory'; readonly path: string } | { readonly type: 'cut_short' };

export type WalkLimits = { readonly maxEntries: number; readonly signal: AbortSignal };

// Machines fill these, and they would eat every limit before the first file that a person wrote.
export const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * Files and directories below `start`, the nearer ones first, by name within a directory. Follows no symbolic link,
 * so it cannot go in circles; passes over directories it cannot read, `.git` and `node_modules`.
 */
export async function* walk(workspace: Workspace, start: string, limits: WalkLimits): AsyncGenerator<Step> {
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
