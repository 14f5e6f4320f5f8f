import {
  isOwnFile,
  type Place,
  quotePath,
  readTextPart,
  tellFileErrors,
  type Workspace,
  withPlace,
} from '@recourse/toolkit-kit/directories';
import { defineTool, empty, RetryableToolError } from 'recourse-server';
import type { InlineTool, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';
import { toIsoTime } from './note-lists.ts';
import { isNoteName, isOpenPath, toNoteText } from './note-text.ts';
import type { OpenedNotes } from './notes-directory.ts';
import { parseNotePath } from './notes-directory.ts';

const DEFAULT_LIMIT = 65_536;
// A byte may become six in JSON (\u0001): six times this is still less than the 1 MiB a result may have.
const MAX_LIMIT = 131_072;
const MOST_SUGGESTED = 3;

const ReadNoteInput = z.object({
  path: z
    .string()
    .min(1)
    .max(4096)
    .describe('Path of the note as list_notes and search_notes return it.')
    .meta({ examples: ['projects/plan.md'] }),
  offset: z.int().min(0).default(0).describe('Byte to begin at, 0 for the start; use next_offset to continue.'),
  limit: z.int().min(4).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Maximum number of bytes to read.'),
});

const ReadNoteOutput = z.object({
  display: z.string().describe('Which note, or which bytes of it, in one sentence.'),
  count: z.int().min(0).max(1).describe('1; 0 if the note is empty.'),
  path: z.string(),
  content: z.string(),
  modified: z.string().describe('When it was last changed, ISO 8601 in UTC.'),
  size: z.int().describe('Size of the whole note in bytes.'),
  truncated: z.literal(true).optional().describe('True if there is more: read again with offset = next_offset.'),
  next_offset: z.int().optional(),
});

/** `read_note`: one note, at most 128 KiB a call, read from the disk and not from the index. */
export const createReadNote = (notes: OpenedNotes): InlineTool =>
  defineTool({
    name: 'read_note',
    description:
      'Reads one Markdown note by its path. Returns its content; long notes come in parts: if truncated is true, call again with offset = next_offset.',
    effects: 'read',
    input: ReadNoteInput,
    output: ReadNoteOutput,
    run: async ({ path: written, offset, limit }, context) => {
      const workspace = await notes.open();
      const path = parseNotePath(written);
      const missing = () => toMissing(notes, { workspace, path, context });
      if (!isNoteName(path.split('/').at(-1) ?? '') || !isOpenPath(path)) throw await missing();
      return tellFileErrors({ path, createMissingError: missing }, () =>
        withNote(workspace, path, { use: (place) => readPart(place, { path, offset, limit }), missing }),
      );
    },
  });

type NoteUse<T> = { readonly use: (place: Place) => Promise<T>; readonly missing: () => Promise<Error> };

/** As `withPlace`; links that lead out, links of the hard kind and all that is no file are no notes, and missing. */
const withNote = async <T>(workspace: Workspace, path: string, { use, missing }: NoteUse<T>): Promise<T> => {
  let isInside = false;
  try {
    return await withPlace(workspace, path, async (place) => {
      isInside = true;
      if (!isOwnFile(place.stats)) throw await missing();
      return use(place);
    });
  } catch (thrown) {
    if (isInside || !(thrown instanceof RetryableToolError)) throw thrown;
    throw await missing();
  }
};

type Part = { readonly path: string; readonly offset: number; readonly limit: number };

const readPart = async (place: Place, { path, offset, limit }: Part) => {
  const { size, mtimeMs } = place.stats;
  const { bytes, isEmpty, next } = await readTextPart(place, path, offset, limit);
  if (offset > 0 && offset >= size)
    throw new RetryableToolError(
      `offset ${offset} is past the end of ${quotePath(path)}, which has ${size} bytes. Send a smaller offset.`,
    );
  const about = { path, modified: toIsoTime(mtimeMs), size };
  if (isEmpty) {
    const display = `The note ${quotePath(path)} is empty.`;
    return empty(display, { display, count: 0, ...about, content: '' });
  }
  const content = toNoteText(bytes);
  if (content === undefined)
    throw new RetryableToolError(`${quotePath(path)} is binary, not text. Choose another note.`);
  const value = { count: 1, ...about, content };
  if (next >= size) return { display: `${offset > 0 ? 'The rest of the' : 'The'} note ${quotePath(path)}.`, ...value };
  const display = `Bytes ${offset} to ${next} of ${size} of the note ${quotePath(path)}.`;
  return { display, ...value, truncated: true as const, next_offset: next };
};

type Missing = { readonly workspace: Workspace; readonly path: string; readonly context: ToolContext };

/** There is no such note: names those that may have been meant, by path or by title, and takes none of them for it. */
const toMissing = async (
  { index }: OpenedNotes,
  { workspace, path, context }: Missing,
): Promise<RetryableToolError> => {
  const asking = { root: workspace.root, signal: context.signal, progress: context.progress };
  const { paths } = await index.suggest({ wanted: path, most: MOST_SUGGESTED }, asking);
  const question = paths.length === 0 ? '' : ` Did you mean ${paths.map(quotePath).join(' or ')}?`;
  return new RetryableToolError(`There is no note ${quotePath(path)}.${question}`, {
    hint: 'Call search_notes or list_notes to find it.',
  });
};
