import { defineExtension } from 'recourse-server/extension';
import * as z from 'zod';

/** `list_notes`, `search_notes` and `read_note` on a directory of Markdown files. */
export const extension = defineExtension({
  name: 'notes',
  groups: {
    notes: {
      title: 'Notes',
    },
  },
  settings: {
    NOTES_DIR: z.string().optional().describe('The directory of Markdown files that the notes tools read.'),
  },
  purposes: { NOTES_DIR: { use: 'needed', path: 'directory' } },
  open: async ({ NOTES_DIR }, { fileAccess, log }) =>
    (await import('./notes-tools.ts')).createNotes({ directory: NOTES_DIR, access: fileAccess, log }),
});
