import { RetryableToolError } from '../../tool-errors.ts';
import { checkReadable } from './read-bytes.ts';
import type { SearchFindings, SearchLimits, SearchRequest } from './search-messages.ts';
import type { FileSearch } from './search-thread.ts';
import { withPlace } from './with-place.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

/** What a search may cost: some seconds, some ten megabytes of memory, and an answer a model can still read. */
export const DEFAULT_SEARCH_LIMITS: SearchLimits = {
  maxEntries: 200_000,
  // Of 200 000 names with 40 characters, half remain.
  maxNameCharacters: 16_777_216,
  maxFileBytes: 2_097_152,
  maxTotalBytes: 1_073_741_824,
  maxMatches: 100,
  // Well inside the 30 s of the tool: what was found is worth more than a timeout.
  maxMs: 10_000,
};

export type Search = {
  readonly query: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly limits: SearchLimits;
  /** What the call has left. */
  readonly timeoutMs: number;
};

// The same for a call whose caller gave it less than 30 s.
const PART_OF_TIMEOUT = 0.75;

/**
 * Searches one file, or all below a directory, until a limit is reached. Below a directory, what cannot be opened is
 * counted and passed over; a `path` that itself cannot be opened or searched rejects.
 */
export const searchText = async (
  workspace: Workspace,
  files: FileSearch,
  { query, path, signal, limits, timeoutMs }: Search,
): Promise<SearchFindings> => {
  // The thread has a clock of its own, with another origin.
  const endsAtMs = performance.timeOrigin + performance.now() + timeoutMs * PART_OF_TIMEOUT;
  const kind = await toKind(workspace, path);
  const request = { ...workspace, path, kind, query, limits, endsAtMs };
  const outcome = await files.search(request, signal);
  switch (outcome.kind) {
    case 'found':
      return outcome.findings;
    case 'binary':
      throw new RetryableToolError(`${quotePath(path)} is binary. Choose a text file or a directory.`);
    case 'unreadable':
      throw Object.assign(new Error('The file cannot be read.'), { code: outcome.code });
  }
};

/** Refuses what cannot be searched in the words of the other file tools. The thread pins it anew. */
const toKind = (workspace: Workspace, path: string): Promise<SearchRequest['kind']> =>
  withPlace(workspace, path, async ({ stats }) => {
    if (stats.isDirectory()) return 'directory';
    checkReadable(stats, path);
    return 'file';
  });
