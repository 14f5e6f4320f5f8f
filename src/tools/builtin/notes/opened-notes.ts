import type { OpenNotesDirectory } from './notes-directory.ts';
import type { NotesIndex } from './notes-index.ts';

/** What the three tools share. */
export type OpenedNotes = { readonly open: OpenNotesDirectory; readonly index: NotesIndex };
