import { RetryableToolError } from '../../tool-errors.ts';
import { tellFileErrors } from '../workspace/file-errors.ts';
import { withPlace } from '../workspace/with-place.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { quotePath } from '../workspace/workspace-path.ts';

/** Where nothing was found in a folder: rejects with a RetryableToolError if there is no such folder at all. */
export const checkFolder = async (workspace: Workspace, folder: string): Promise<void> => {
  const refuse = (): RetryableToolError =>
    new RetryableToolError(
      `There is no folder ${quotePath(folder)} among the notes. Call list_notes without a folder to see what is there.`,
    );
  const isDirectory = await tellFileErrors({ path: folder, toMissing: refuse }, () =>
    // A link that leads out is no folder among the notes either.
    withPlace(workspace, folder, async ({ stats }) => stats.isDirectory()).catch((thrown: unknown) => {
      throw thrown instanceof RetryableToolError ? refuse() : thrown;
    }),
  );
  if (!isDirectory) throw refuse();
};
