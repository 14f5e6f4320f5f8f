import { RetryableToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { checkReadable, withPlace } from './place.ts';
import { locateThread, RequestThread } from './request-thread.ts';
import type { FileAccess, Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

export type SearchLimits = {
  /** Names of files and directories looked at. */
  readonly maxEntries: number;
  /** Characters of those names and of the paths of the directories, in all. */
  readonly maxNameCharacters: number;
  /** Bytes searched in one file, from its start. */
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxMatches: number;
  readonly maxMs: number;
};

export type Match = { readonly path: string; readonly line: number; readonly text: string };

export type SearchFindings = {
  readonly matches: readonly Match[];
  readonly truncated: boolean;
  /** Files that could not be opened. */
  readonly unreadable: number;
};

/** One search as the thread takes it. */
export type SearchRequest = {
  /** The workspace's root, a real path. */
  readonly root: string;
  readonly access: FileAccess;
  /** Where to search, a plain path below the root. */
  readonly path: string;
  /** What was found there when the call began. */
  readonly kind: 'file' | 'directory';
  readonly query: string;
  readonly limits: SearchLimits;
  /** Unix milliseconds at which it ends with what it has found, whatever it waited for. */
  readonly endsAtMs: number;
};

/**
 * `binary`: the one file to search is no text. `unreadable`: the system answers with this code where the search should
 * begin.
 */
export type SearchOutcome =
  | { readonly kind: 'found'; readonly findings: SearchFindings }
  | { readonly kind: 'binary' }
  | { readonly kind: 'unreadable'; readonly code: string };

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

type Search = {
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
  const kind = await findKind(workspace, path);
  const request = { ...workspace, path, kind, query, limits, endsAtMs };
  const outcome = await files.request(request, signal);
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
const findKind = (workspace: Workspace, path: string): Promise<SearchRequest['kind']> =>
  withPlace(workspace, path, async ({ stats }) => {
    if (stats.isDirectory()) return 'directory';
    checkReadable(stats, path);
    return 'file';
  });

export type FileSearchOptions = {
  /** How long the thread is kept without a search. */
  readonly idleMs?: number;
  /** Another file to run as the thread, for tests. */
  readonly file?: URL;
};

const SEARCH_WORKER = locateThread('./searching/search-worker', import.meta.url);

// Starting takes some 50 ms; what is kept meanwhile is some 10 MB.
const IDLE_MS = 60_000;

export type FileSearch = RequestThread<SearchRequest, SearchOutcome>;

/** One thread for all searches, beside the event loop: started with the first, stopped when there was none for a while. */
export const createFileSearch = ({ idleMs = IDLE_MS, file = SEARCH_WORKER }: FileSearchOptions = {}): FileSearch =>
  new RequestThread<SearchRequest, SearchOutcome>({
    file,
    name: 'file-search',
    idleMs,
    createStoppedError: (cause) =>
      new UpstreamToolError('upstream_unavailable', 'The search stopped before it ended. Call again.', {
        executed: 'maybe',
        cause,
      }),
  });
