import type { FileAccess } from './file-access.ts';

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

/** To the thread. A search that was called off is not answered. */
export type ToSearchThread =
  | { readonly kind: 'search'; readonly id: number; readonly request: SearchRequest }
  | { readonly kind: 'call_off'; readonly id: number };

/** From the thread. */
export type FromSearchThread = { readonly id: number; readonly outcome: SearchOutcome };
