import {
  DEFAULT_SEARCH_LIMITS,
  type FileSearch,
  type SearchFindings,
  type SearchLimits,
  searchText,
  tellWithNearNames,
  toWorkspacePath,
  type Workspace,
} from '@recourse/toolkit-kit/directories';
import { defineTool, empty } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';

const SearchFilesInput = z.object({
  query: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[^\r\n]*$/, 'must be one line')
    .describe('Plain text to find within a line, not a regular expression; case is ignored.'),
  path: z
    .string()
    .min(1)
    .default('.')
    .describe('Directory to search recursively, or one file; relative to the workspace.'),
});

const SearchFilesOutput = z.object({
  query: z.string(),
  matches: z.array(
    z.object({
      path: z.string(),
      line: z.int().describe('From 1.'),
      text: z.string().describe('The line; a long one is cut around the match.'),
    }),
  ),
  count: z.int().describe('Number of matches listed.'),
  truncated: z
    .literal(true)
    .optional()
    .describe('True if a limit was reached: there may be more. Search a smaller path.'),
  unreadable_files: z.int().optional().describe('Files that could not be opened and were not searched.'),
});

export type SearchFilesOptions = {
  /** Where searches run. */
  readonly files: FileSearch;
  /** For tests. */
  readonly limits?: SearchLimits;
};

/** `search_files`: plain text in the lines of text files. */
export const createSearchFiles = (
  workspace: Workspace,
  { files, limits = DEFAULT_SEARCH_LIMITS }: SearchFilesOptions,
): InlineTool =>
  defineTool({
    name: 'search_files',
    description:
      'Finds lines that contain a plain text, in all text files of the workspace or below one path. Skips binary files, symbolic links, .git and node_modules. Returns path, line number and line of each match.',
    effects: 'read',
    input: SearchFilesInput,
    output: SearchFilesOutput,
    run: ({ query, path: written }, { signal, timeoutMs }) => {
      const path = toWorkspacePath(written);
      const hint = 'Call list_files to see what is there.';
      return tellWithNearNames(workspace, { wanted: 'file or directory', path, hint, signal }, async (found) =>
        toAnswer(query, await searchText(workspace, files, { query, path: found, signal, limits, timeoutMs })),
      );
    },
  });

const toAnswer = (query: string, { matches, truncated, unreadable }: SearchFindings) => {
  const value = {
    query,
    matches,
    count: matches.length,
    ...(truncated ? { truncated } : {}),
    ...(unreadable > 0 ? { unreadable_files: unreadable } : {}),
  };
  if (matches.length > 0) return value;
  return empty(
    truncated ? 'No matches found before a limit was reached; search a smaller path.' : 'No matches found.',
    value,
  );
};
