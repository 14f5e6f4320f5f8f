import { quotePath, tellFileErrors, type Workspace, withPlace } from '@recourse/toolkit-kit/directories';
import { answerPage, pageShape } from '@recourse/toolkit-kit/page-answers';
import { defineTool, RetryableToolError } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';
import { type OpenedNotes, parseNotePath } from './notes-directory.ts';
import { parseSearchExpression } from './search-expression.ts';

const MAX_PAGE = 1000;
const MAX_PAGE_SIZE = 50;

const spanShape = {
  folder: z
    .string()
    .min(1)
    .max(1000)
    .default('.')
    .describe('Only notes in this folder and below it; "." for all notes.')
    .meta({ examples: ['projects'] }),
  page: z.int().min(1).max(MAX_PAGE).default(1).describe('Page to return, in any order; the first is 1.'),
  page_size: z.int().min(1).max(MAX_PAGE_SIZE).default(20).describe('Notes per page.'),
};

const noteShape = {
  path: z.string().describe('The path to pass to read_note.'),
  title: z.string().describe("The note's title, its first heading, or its file name."),
  modified: z.string().describe('When it was last changed, ISO 8601 in UTC.'),
  size: z.int().describe('Bytes.'),
};

const readSpan = ({ folder, page, page_size: limit }: z.output<typeof ListNotesInput>) => ({
  folder: parseNotePath(folder),
  offset: (page - 1) * limit,
  limit,
});

// The time of a file may be anything a file system can hold; a date cannot.
const MOST_MS = 8.64e15;

const toNoteItem = <Row extends { readonly modifiedMs: number }>({ modifiedMs, ...rest }: Row) => ({
  ...rest,
  modified: toIsoTime(modifiedMs),
});

export const toIsoTime = (timeMs: number): string =>
  new Date(Math.max(-MOST_MS, Math.min(MOST_MS, timeMs))).toISOString();

const NOTES = { words: { one: 'note', many: 'notes' }, key: 'notes' } as const;

// What is not found may be there.
const INCOMPLETE = 'Some notes are not indexed and are missing from lists and searches.';

/** Where nothing was found in a folder: rejects with a RetryableToolError if there is no such folder at all. */
const checkFolder = async (workspace: Workspace, folder: string): Promise<void> => {
  const refuse = (): RetryableToolError =>
    new RetryableToolError(
      `There is no folder ${quotePath(folder)} in the notes. Call list_notes without a folder to list all notes.`,
    );
  const isDirectory = await tellFileErrors({ path: folder, createMissingError: refuse }, () =>
    // A link that leads out is no folder among the notes either.
    withPlace(workspace, folder, async ({ stats }) => stats.isDirectory()).catch((thrown: unknown) => {
      throw thrown instanceof RetryableToolError ? refuse() : thrown;
    }),
  );
  if (!isDirectory) throw refuse();
};

const ListNotesInput = z.object(spanShape);

const ListNotesOutput = z.object({ ...pageShape, notes: z.array(z.object(noteShape)) });

/** `list_notes`: the notes of the directory, or of a folder, the latest changed first. */
export const createListNotes = ({ open, index }: OpenedNotes): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof ListNotesInput, z.ZodType>({
    name: 'list_notes',
    description:
      'Lists the Markdown notes, the latest changed first, all or those of one folder. Returns path, title, time of the last change and size of each, in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input: ListNotesInput,
    output: ListNotesOutput,
    run: async (input, { signal, progress }) => {
      const workspace = await open();
      const span = readSpan(input);
      const { items, hasMore, isComplete } = await index.list(span, { root: workspace.root, signal, progress });
      if (items.length === 0) await checkFolder(workspace, span.folder);
      const after = isComplete ? undefined : INCOMPLETE;
      return answerPage({ ...NOTES, items: items.map(toNoteItem), page: input.page, hasMore, after });
    },
  });

const SearchNotesInput = z.object({
  query: z
    .string()
    .min(1)
    .max(1000)
    .describe(
      'Words to search, "exact phrases" in quotes, prefixes with a star (budg*). Case and accents are ignored; in Chinese, Japanese and Thai any part of a sentence matches.',
    )
    .meta({ examples: ['release plan', '"release plan" budg*'] }),
  ...spanShape,
});

const SearchNotesOutput = z.object({
  ...pageShape,
  matched: z
    .enum(['all', 'any'])
    .optional()
    .describe('all: the notes contain every word; any: no note contains all words, or the query uses OR.'),
  notes: z.array(
    z.object({ ...noteShape, snippet: z.string().describe('Where it matches, each match between « and ».') }),
  ),
});

/** `search_notes`: full-text search over title, path and text (the first 256 KiB of a note), the best matches first. */
export const createSearchNotes = ({ open, index }: OpenedNotes): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof SearchNotesInput, z.ZodType>({
    name: 'search_notes',
    description:
      'Searches titles, paths and text of the Markdown notes (the first 256 KiB of each), the best matches first; a match in the title weighs more. Finds notes that contain all words, or, if there are none, notes that contain some of them (see matched). Returns path, title and a snippet of each, in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input: SearchNotesInput,
    output: SearchNotesOutput,
    run: async ({ query, ...input }, { signal, progress }) => {
      const workspace = await open();
      const span = readSpan(input);
      const expression = parseSearchExpression(query);
      const asking = { root: workspace.root, signal, progress };
      const { items, hasMore, matched, isComplete } = await index.search({ ...span, ...expression }, asking);
      if (items.length === 0) await checkFolder(workspace, span.folder);
      const hasSome = matched === 'any' && !expression.wantsAny && items.length > 0;
      return answerPage({
        ...NOTES,
        items: items.map(toNoteItem),
        page: input.page,
        hasMore,
        before: hasSome ? 'No note contains all words. Notes with some of them:' : undefined,
        after: isComplete ? undefined : INCOMPLETE,
        further: items.length === 0 ? {} : { matched },
      });
    },
  });
