import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import type { InlineTool } from '../../tool.ts';
import { pageShape } from '../answers.ts';
import { answerNotes } from './answer-notes.ts';
import { checkFolder } from './check-folder.ts';
import { noteShape, spanShape, toNoteItem, toSpan } from './note-items.ts';
import type { OpenedNotes } from './opened-notes.ts';
import { toSearchExpression } from './search-expression.ts';

const SearchNotesInput = z.object({
  query: z
    .string()
    .min(1)
    .max(1000)
    .describe(
      'Words to look for, "exact phrases" in quotes, beginnings of words with a star (budg*). Upper and lower case and accents are the same, and in Chinese, Japanese and Thai any part of a sentence is found.',
    )
    .meta({ examples: ['release plan', '"release plan" budg*'] }),
  ...spanShape,
});

const SearchNotesOutput = z.object({
  ...pageShape,
  matched: z
    .enum(['all', 'any'])
    .optional()
    .describe('all: the notes have every word; any: no note has them all, or OR was asked for.'),
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
      'Searches titles, paths and text of the Markdown notes (the first 256 KiB of each), the best matches first; a match in the title weighs more. Finds notes that have all words; where no note has them all, notes with some of them (matched says which). Returns path, title and a snippet of each, in pages: where the value says has_more, call again with page + 1.',
    effects: 'read',
    input: SearchNotesInput,
    output: SearchNotesOutput,
    run: async ({ query, folder, page, page_size }, { signal, progress }) => {
      const workspace = await open();
      const span = toSpan({ folder, page, page_size });
      const expression = toSearchExpression(query);
      const asking = { root: workspace.root, signal, progress };
      const { items, hasMore, matched, isComplete } = await index.search({ ...span, ...expression }, asking);
      if (items.length === 0) await checkFolder(workspace, span.folder);
      const hasSome = matched === 'any' && !expression.wantsAny && items.length > 0;
      return answerNotes({
        items: items.map(toNoteItem),
        page,
        hasMore,
        isComplete,
        first: hasSome ? 'No note has all words. With some of them:' : '',
        further: items.length === 0 ? {} : { matched },
      });
    },
  });
