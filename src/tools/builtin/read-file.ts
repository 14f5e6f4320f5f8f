import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import type { InlineTool } from '../tool.ts';
import { RetryableToolError } from '../tool-errors.ts';
import { empty } from '../tool-values.ts';
import { tellFileErrors } from './workspace/file-errors.ts';
import { toMissing } from './workspace/missing.ts';
import type { Place } from './workspace/place.ts';
import { readBytes } from './workspace/read-bytes.ts';
import { withPlace } from './workspace/with-place.ts';
import type { Workspace } from './workspace/workspace.ts';
import { quotePath, toWorkspacePath } from './workspace/workspace-path.ts';

const DEFAULT_LIMIT = 65_536;
// A byte may become six in JSON (\u0001): six times this is still less than the 1 MiB a result may have.
const MAX_LIMIT = 131_072;
// A character of UTF-8 has at most three bytes beyond its first.
const MOST_FURTHER_BYTES = 3;

// Bytes, not lines: a byte is found at once in a file of any size, and one line may be gigabytes.
const ReadFileInput = z.object({
  path: z
    .string()
    .min(1)
    .describe('Path of the file, relative to the workspace.')
    .meta({ examples: ['notes.md'] }),
  offset: z.int().min(0).default(0).describe('Byte to begin at, 0 for the start; use next_offset to go on.'),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('How many bytes to read at most.'),
});

const ReadFileOutput = z.object({
  path: z.string(),
  content: z.string(),
  truncated: z.literal(true).optional().describe('There is more: read again with offset = next_offset.'),
  next_offset: z.int().optional(),
  total_bytes: z.int().optional().describe('Size of the whole file, where it was truncated.'),
});

/** `read_file`: UTF-8 text of one file, at most 128 KiB a call. */
export const createReadFile = (workspace: Workspace): InlineTool =>
  defineTool({
    name: 'read_file',
    description:
      'Reads a UTF-8 text file of the workspace. Long files come in parts: where the value says truncated, call again with offset = next_offset.',
    effects: 'read',
    input: ReadFileInput,
    output: ReadFileOutput,
    run: ({ path: written, offset, limit }, { signal }) => {
      const path = toWorkspacePath(written);
      const hint = 'Call list_files to see what is there.';
      const missing = (cause: unknown) => toMissing(workspace, { wanted: 'file', path, hint, cause, signal });
      return tellFileErrors({ path, toMissing: missing }, () =>
        withPlace(workspace, path, (place) => readPart(place, { path, offset, limit })),
      );
    },
  });

type Part = { readonly path: string; readonly offset: number; readonly limit: number };

const readPart = async (place: Place, { path, offset, limit }: Part) => {
  const size = place.stats.size;
  const bytes = await readBytes(place, path, { offset, length: limit + MOST_FURTHER_BYTES });
  if (offset > size)
    throw new RetryableToolError(
      `offset ${offset} is past the end of ${quotePath(path)}, which has ${size} bytes. Send a smaller offset.`,
    );
  if (bytes.length === 0) {
    const message = size === 0 ? 'The file is empty.' : 'The end of the file is reached.';
    return empty(message, { path, content: '' });
  }
  // A part begins and ends between characters, so that parts put together are the file.
  const start = offset === 0 ? 0 : toCharacterStart(bytes, 0);
  const end = toCharacterStart(bytes, Math.min(limit, bytes.length));
  const content = decode(bytes.subarray(start, end), path);
  const next = offset + end;
  if (next >= size) return { path, content };
  return { path, content, truncated: true as const, next_offset: next, total_bytes: size };
};

const toCharacterStart = (bytes: Buffer, from: number): number => {
  const isFurther = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let at = from;
  while (at < from + MOST_FURTHER_BYTES && isFurther(at)) at += 1;
  return at;
};

// Replacement characters would be written back by a model that edits the file, and the bytes behind them lost.
const decode = (bytes: Buffer, path: string): string => {
  const text = bytes.toString();
  if (bytes.includes(0) || !Buffer.from(text).equals(bytes))
    throw new RetryableToolError(`${quotePath(path)} is binary, or not UTF-8 text. Choose a text file.`);
  return text;
};
