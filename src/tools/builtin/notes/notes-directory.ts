import { realpath, stat } from 'node:fs/promises';
import { RetryableToolError } from '../../tool-errors.ts';
import type { FamilyLog } from '../../tool-family.ts';
import type { FileAccess } from '../workspace/file-access.ts';
import { errorCodeOf } from '../workspace/file-errors.ts';
import { createWorkspace, type Workspace } from '../workspace/workspace.ts';

/** The directory of notes as it is now. Rejects with a RetryableToolError that names NOTES_DIR. */
export type OpenNotesDirectory = () => Promise<Workspace>;

const ADVICE = 'Set NOTES_DIR to a directory of Markdown files.';

/** Looks anew with each call: a directory that is mounted later works then. What is wrong is logged once. */
export const createNotesDirectory = (
  directory: string | undefined,
  { access, log }: { readonly access: FileAccess; readonly log: FamilyLog },
): OpenNotesDirectory => {
  let told = '';
  const refuse = (reason: string, message: string, cause?: unknown): never => {
    if (told !== reason) log.warn({ setting: 'NOTES_DIR', path: directory ?? null, reason }, 'notes are not available');
    told = reason;
    // Nothing was looked at.
    throw new RetryableToolError(message, { cause, executed: 'no' });
  };
  return async () => {
    if (directory === undefined) return refuse('is not set', `Notes not configured. ${ADVICE}`);
    const problem = await findProblem(directory);
    if (problem !== undefined)
      return refuse(problem, `Notes not available: the directory that NOTES_DIR names ${problem}. ${ADVICE}`);
    const workspace = await createWorkspace({ root: directory, access }).catch((cause: unknown) =>
      refuse(
        String(cause),
        `Notes not available: the directory that NOTES_DIR names cannot be kept to. ${ADVICE}`,
        cause,
      ),
    );
    told = '';
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
