import { type FileAccess, probeFileAccess } from '@recourse/toolkit-kit/directories';
import type { ExtensionLog, OpenedTools } from 'recourse-server/extension';
import { createListNotes, createSearchNotes } from './note-lists.ts';
import type { OpenedNotes } from './notes-directory.ts';
import { createNotesDirectory } from './notes-directory.ts';
import { createNotesIndex } from './notes-index.ts';
import { createReadNote } from './read-note.ts';

/** `list_notes`, `search_notes` and `read_note` over one directory of Markdown. */
export const createNotes = ({
  directory,
  access = probeFileAccess(),
  log,
}: {
  readonly directory: string | undefined;
  /** Left out: what this system offers. */
  readonly access?: FileAccess | undefined;
  readonly log: ExtensionLog;
}): OpenedTools => {
  const notes = { open: createNotesDirectory(directory, { access, log }), index: createNotesIndex(log, { access }) };
  void indexAhead(notes, log);
  return {
    tools: [createListNotes(notes), createSearchNotes(notes), createReadNote(notes)],
    close: notes.index.close,
  };
};

/** Begins at once: whoever switched notes on wants them, and the first search need not wait for all of it. */
const indexAhead = async ({ open, index }: OpenedNotes, log: ExtensionLog): Promise<void> => {
  const asking = { signal: new AbortController().signal, progress: () => undefined };
  await open()
    .then(({ root }) => index.prepare({ ...asking, root }))
    .then(({ notes, ms }) => log.info({ notes, ms }, 'notes are indexed'))
    // Told by then, and told again to the call that needs it.
    .catch(() => undefined);
};
