import { lstat } from 'node:fs/promises';
import {
  type Entry,
  type Place,
  quotePath,
  readPage,
  tellWithNearNames,
  toWorkspacePath,
  unlessUnreadable,
  type Workspace,
  withPlace,
} from '@recourse/toolkit-kit/directories';
import { defineTool, empty, ok, RetryableToolError } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';

// Names have at most 255 bytes and a byte may become six in JSON: this many stay below the 1 MiB a result may have.
const MAX_LISTED = 500;
// All names are read for each page, and a few thousand of them kept: 30 000 take some 50 ms.
const MAX_LOOKED_AT = 200_000;
// The service's other calls need the threads of the file system, too.
const SIZES_AT_ONCE = 16;

const ListFilesInput = z.object({
  path: z.string().min(1).default('.').describe('Path of the directory, relative to the workspace; "." for its root.'),
  after: z.string().optional().describe('List only names that sort after this one; use next_after to continue.'),
});

const ListFilesOutput = z.object({
  path: z.string(),
  entries: z.array(
    z.object({
      name: z.string(),
      type: z.enum(['file', 'directory', 'symlink', 'other']),
      size: z.number().nullable().describe('Size in bytes; null if it is not a file.'),
    }),
  ),
  count: z.int().describe('Number of entries listed.'),
  truncated: z.literal(true).optional().describe('True if there are more entries than listed.'),
  next_after: z.string().optional(),
});

/** `list_files`: one directory, not what lies below; sorted by name, at most 500 entries a call. `maxLookedAt` is for tests. */
export const createListFiles = (workspace: Workspace, maxLookedAt = MAX_LOOKED_AT): InlineTool =>
  defineTool({
    name: 'list_files',
    description:
      'Lists the files and subdirectories of one directory of the workspace by name, with type and size. If truncated is true, call again with after = next_after.',
    effects: 'read',
    input: ListFilesInput,
    output: ListFilesOutput,
    run: ({ path: written, after }, { signal }) => {
      const path = toWorkspacePath(written);
      const hint = `Call list_files with the path "." to list the workspace.`;
      return tellWithNearNames(workspace, { wanted: 'directory', path, hint, signal }, (found) =>
        withPlace(workspace, found, (place) => listDirectory(place, { path: found, after, signal, maxLookedAt })),
      );
    },
  });

type Listing = {
  readonly path: string;
  readonly after: string | undefined;
  readonly signal: AbortSignal;
  readonly maxLookedAt: number;
};

const listDirectory = async (place: Place, { path, after, signal, maxLookedAt }: Listing) => {
  if (!place.stats.isDirectory())
    throw new RetryableToolError(
      `${quotePath(path)} is not a directory. Call read_file to read a file, or send the path of a directory.`,
    );
  // One more than is listed, to know whether there are more.
  const page = { after, most: MAX_LISTED + 1, limit: maxLookedAt, signal };
  const { entries: wanted, complete } = await readPage(place, page);
  const listed = wanted.slice(0, MAX_LISTED);
  const entries = [];
  for (let from = 0; from < listed.length; from += SIZES_AT_ONCE)
    entries.push(
      ...(await Promise.all(listed.slice(from, from + SIZES_AT_ONCE).map((entry) => measure(place, entry)))),
    );
  const value = { path, entries, count: entries.length };
  if (wanted.length > listed.length) return { ...value, truncated: true as const, next_after: listed.at(-1)?.name };
  if (!complete)
    return ok(
      { ...value, truncated: true as const },
      `Only ${maxLookedAt} entries were read; the directory contains more.`,
    );
  if (entries.length > 0) return value;
  return empty(after === undefined ? 'The directory is empty.' : 'No further entries.', value);
};

const measure = async (directory: Place, entry: Entry) => ({ ...entry, size: await toSize(directory, entry) });

// Null too for a file that went away since its name was read.
const toSize = async (directory: Place, { name, type }: Entry): Promise<number | null> =>
  type === 'file' ? ((await unlessUnreadable(lstat(`${directory.link}/${name}`)))?.size ?? null) : null;
