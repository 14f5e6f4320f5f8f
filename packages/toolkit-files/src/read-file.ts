import {
  type Place,
  quotePath,
  readTextPart,
  tellWithNearNames,
  toWorkspacePath,
  type Workspace,
  withPlace,
} from '@recourse/toolkit-kit/directories';
import { defineTool, empty, RetryableToolError } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';

const DEFAULT_LIMIT = 65_536;
// A byte may become six in JSON (\u0001): six times this is still less than the 1 MiB a result may have.
const MAX_LIMIT = 131_072;

// Bytes, not lines: a byte is found at once in a file of any size, and one line may be gigabytes.
const ReadFileInput = z.object({
  path: z
    .string()
    .min(1)
    .describe('Path of the file, relative to the workspace.')
    .meta({ examples: ['notes.md'] }),
  offset: z.int().min(0).default(0).describe('Byte to begin at, 0 for the start; use next_offset to continue.'),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Maximum number of bytes to read.'),
});

const ReadFileOutput = z.object({
  path: z.string(),
  content: z.string(),
  truncated: z.literal(true).optional().describe('True if there is more: read again with offset = next_offset.'),
  next_offset: z.int().optional(),
  total_bytes: z.int().optional().describe('Size of the whole file in bytes, if truncated.'),
});

/** `read_file`: UTF-8 text of one file, at most 128 KiB a call. */
export const createReadFile = (workspace: Workspace): InlineTool =>
  defineTool({
    name: 'read_file',
    description:
      'Reads a UTF-8 text file of the workspace. Long files come in parts: if truncated is true, call again with offset = next_offset.',
    effects: 'read',
    input: ReadFileInput,
    output: ReadFileOutput,
    run: ({ path: written, offset, limit }, { signal }) => {
      const path = toWorkspacePath(written);
      const hint = 'Call list_files to see what is there.';
      return tellWithNearNames(workspace, { wanted: 'file', path, hint, signal }, (found) =>
        withPlace(workspace, found, (place) => readPart(place, { path: found, offset, limit })),
      );
    },
  });

type Part = { readonly path: string; readonly offset: number; readonly limit: number };

const readPart = async (place: Place, { path, offset, limit }: Part) => {
  const size = place.stats.size;
  const { bytes, isEmpty, next } = await readTextPart(place, path, offset, limit);
  if (offset > size)
    throw new RetryableToolError(
      `offset ${offset} is past the end of ${quotePath(path)}, which has ${size} bytes. Send a smaller offset.`,
    );
  if (isEmpty) {
    const message = size === 0 ? 'The file is empty.' : 'The end of the file is reached.';
    return empty(message, { path, content: '' });
  }
  const content = decode(bytes, path);
  if (next >= size) return { path, content };
  return { path, content, truncated: true as const, next_offset: next, total_bytes: size };
};

// Replacement characters would be written back by a model that edits the file, and the bytes behind them lost.
const decode = (bytes: Buffer, path: string): string => {
  const text = bytes.toString();
  if (bytes.includes(0) || !Buffer.from(text).equals(bytes))
    throw new RetryableToolError(`${quotePath(path)} is binary, or not UTF-8 text. Choose a text file.`);
  return text;
};
