import { realpath, stat } from 'node:fs/promises';
import {
  createWorkspace,
  errorCodeOf,
  type FileAccess,
  quotePath,
  toWorkspacePath,
  type Workspace,
} from '@recourse/toolkit-kit/directories';
import { RetryableToolError } from 'recourse-server';
import type { ExtensionLog } from 'recourse-server/extension';
import type { NotesIndex } from './notes-index.ts';

type OpenNotesDirectory = () => Promise<Workspace>;

const ADVICE = 'Set NOTES_DIR to a directory of Markdown files.';

/** Looks anew with each call: a directory that is mounted later works then. What is wrong is logged once. */
export const createNotesDirectory = (
  directory: string | undefined,
  { access, log }: { readonly access: FileAccess; readonly log: ExtensionLog },
): OpenNotesDirectory => {
  let warnedReason = '';
  const refuse = (reason: string, message: string, cause?: unknown): never => {
    if (warnedReason !== reason)
      log.warn({ setting: 'NOTES_DIR', path: directory ?? null, reason }, 'notes are not available');
    warnedReason = reason;
    // Nothing was looked at.
    throw new RetryableToolError(message, { cause, executed: 'no' });
  };
  return async () => {
    if (directory === undefined) return refuse('is not set', `Notes not configured. ${ADVICE}`);
    const problem = await findProblem(directory);
    if (problem !== undefined)
      return refuse(problem, `Notes not available: the directory in NOTES_DIR ${problem}. ${ADVICE}`);
    const workspace = await createWorkspace({ root: directory, access }).catch((cause: unknown) =>
      refuse(
        String(cause),
        `Notes not available: access cannot be confined to the directory in NOTES_DIR. ${ADVICE}`,
        cause,
      ),
    );
    warnedReason = '';
    return workspace;
  };
};

/** What is wrong, without the path: that is for the log alone. */
const findProblem = async (directory: string): Promise<string | undefined> => {
  try {
    if (!(await stat(directory)).isDirectory()) return 'is not a directory';
    return (await realpath(directory)) === '/' ? 'is the root of the file system' : undefined;
  } catch (thrown) {
    const code = errorCodeOf(thrown);
    if (code === undefined) throw thrown;
    return code === 'ENOENT' ? 'does not exist' : `cannot be opened (${code})`;
  }
};

/** What the three tools share. */
export type OpenedNotes = { readonly open: OpenNotesDirectory; readonly index: NotesIndex };

/** A path among the notes as a model wrote it, made plain. Throws RetryableToolError, which says what to write instead. */
export const parseNotePath = (written: string): string => {
  const refuse = (what: string): never => {
    throw new RetryableToolError(
      `${quotePath(written)} ${what}. Send a path as list_notes and search_notes return it, for example 'projects/plan.md'.`,
    );
  };
  if (written.startsWith('/')) refuse('is an absolute path');
  if (written.split('/').includes('..')) refuse("holds '..'");
  return toWorkspacePath(written);
};
