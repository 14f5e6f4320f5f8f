import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import type { InlineTool } from '../../tool.ts';
import { pageShape } from '../answers.ts';
import { answerNotes } from './answer-notes.ts';
import { checkFolder } from './check-folder.ts';
import { noteShape, spanShape, toNoteItem, toSpan } from './note-items.ts';
import type { OpenedNotes } from './opened-notes.ts';

const ListNotesInput = z.object(spanShape);

const ListNotesOutput = z.object({ ...pageShape, notes: z.array(z.object(noteShape)) });

/** `list_notes`: the notes of the directory, or of a folder, the latest changed first. */
export const createListNotes = ({ open, index }: OpenedNotes): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof ListNotesInput, z.ZodType>({
    name: 'list_notes',
    description:
      'Lists the Markdown notes, the latest changed first, all or those of one folder. Returns path, title, time of the last change and size of each, in pages: where the value says has_more, call again with page + 1.',
    effects: 'read',
    input: ListNotesInput,
    output: ListNotesOutput,
    run: async ({ folder, page, page_size }, { signal, progress }) => {
      const workspace = await open();
      const span = toSpan({ folder, page, page_size });
      const { items, hasMore, isComplete } = await index.list(span, { root: workspace.root, signal, progress });
      if (items.length === 0) await checkFolder(workspace, span.folder);
      return answerNotes({ items: items.map(toNoteItem), page, hasMore, isComplete, further: {} });
    },
  });
