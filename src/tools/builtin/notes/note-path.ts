import { RetryableToolError } from '../../tool-errors.ts';
import { quotePath, toWorkspacePath } from '../workspace/workspace-path.ts';

/** A path among the notes as a model wrote it, made plain. Throws RetryableToolError, which says what to write instead. */
export const toNotePath = (written: string): string => {
  const refuse = (what: string): never => {
    throw new RetryableToolError(
      `${quotePath(written)} ${what}. Send a path as list_notes and search_notes give it, for example 'projects/plan.md'.`,
    );
  };
  if (written.startsWith('/')) refuse('is an absolute path');
  if (written.split('/').includes('..')) refuse("holds '..'");
  return toWorkspacePath(written);
};
