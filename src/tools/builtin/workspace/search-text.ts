import { RetryableToolError } from '../../tool-errors.ts';
import { unlessUnreadable } from './file-errors.ts';
import { type Place, withPlace } from './place.ts';
import { readBytes } from './read-bytes.ts';
import { walk } from './walk.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

export type SearchLimits = {
  /** Names of files and directories looked at. */
  readonly maxEntries: number;
  /** Bytes searched in one file, from its start. */
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxMatches: number;
  readonly maxMs: number;
};

/** What a search may cost: some seconds, a few megabytes of memory, and an answer a model can still read. */
export const DEFAULT_SEARCH_LIMITS: SearchLimits = {
  maxEntries: 20_000,
  maxFileBytes: 2_097_152,
  maxTotalBytes: 134_217_728,
  maxMatches: 100,
  // Well inside the 30 s of the tool: what was found is worth more than a timeout.
  maxMs: 10_000,
};

export type Match = { readonly path: string; readonly line: number; readonly text: string };

export type Search = {
  readonly query: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly limits: SearchLimits;
};

export type SearchFindings = {
  readonly matches: readonly Match[];
  readonly truncated: boolean;
  /** Files that could not be opened. */
  readonly unreadable: number;
};

/**
 * Searches one file, or all below a directory, until a limit is reached. Below a directory, what cannot be opened is
 * counted and passed over; a `path` that itself cannot be opened or searched rejects.
 */
export const searchText = (workspace: Workspace, search: Search): Promise<SearchFindings> =>
  withPlace(workspace, search.path, async (place) => {
    const tally: Tally = { matches: [], bytes: 0, unreadable: 0, truncated: false };
    if (place.stats.isDirectory()) await searchBelow(workspace, search, tally);
    else if ((await searchFile(place, search.path, search, tally)) === 'binary') refuseBinary(search.path);
    const matches = tally.matches.slice(0, search.limits.maxMatches);
    return { ...tally, matches, truncated: tally.truncated || matches.length < tally.matches.length };
  });

type Tally = { readonly matches: Match[]; bytes: number; unreadable: number; truncated: boolean };

const refuseBinary = (path: string): never => {
  throw new RetryableToolError(`${quotePath(path)} is binary. Choose a text file or a directory.`);
};

const searchBelow = async (workspace: Workspace, search: Search, tally: Tally): Promise<void> => {
  const { path: start, signal, limits } = search;
  const stopAt = performance.now() + limits.maxMs;
  const isSpent = (): boolean =>
    tally.matches.length > limits.maxMatches || tally.bytes >= limits.maxTotalBytes || performance.now() >= stopAt;
  for await (const step of walk(workspace, start, { maxEntries: limits.maxEntries, signal })) {
    if (step.type === 'cut_short' || isSpent()) {
      tally.truncated = true;
      return;
    }
    if (step.type === 'directory') continue;
    signal.throwIfAborted();
    const searching = withPlace(workspace, step.path, (place) => searchFile(place, step.path, search, tally));
    if ((await unlessUnreadable(searching)) === undefined) tally.unreadable += 1;
  }
};

const searchFile = async (place: Place, path: string, search: Search, tally: Tally): Promise<'text' | 'binary'> => {
  const { limits, query } = search;
  const bytes = await readBytes(place, path, { offset: 0, length: limits.maxFileBytes });
  tally.bytes += bytes.length;
  if (bytes.includes(0)) return 'binary';
  if (place.stats.size > bytes.length) tally.truncated = true;
  // One more than wanted, to know whether there are more.
  const wanted = limits.maxMatches + 1 - tally.matches.length;
  tally.matches.push(...findLines(bytes.toString(), query, wanted).map((found) => ({ path, ...found })));
  return 'text';
};

const findLines = (text: string, query: string, wanted: number): readonly Omit<Match, 'path'>[] => {
  const needle = query.toLowerCase();
  // Most files hold nothing, and are done without being cut into lines.
  if (!text.toLowerCase().includes(needle)) return [];
  const found: Omit<Match, 'path'>[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (found.length >= wanted) return found;
    const at = line.toLowerCase().indexOf(needle);
    if (at >= 0) found.push({ line: index + 1, text: toExcerpt(line.replace(/\r$/, ''), at) });
  }
  return found;
};

const MAX_EXCERPT = 300;
const BEFORE_MATCH = 100;

const toExcerpt = (line: string, at: number): string => {
  if (line.length <= MAX_EXCERPT) return line;
  const from = Math.max(0, Math.min(at - BEFORE_MATCH, line.length - MAX_EXCERPT));
  const to = from + MAX_EXCERPT;
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`.toWellFormed();
};
