import { explainFileErrors } from '@recourse/toolkit-kit/workspace/file-errors';
import { readBytes, withPlace } from '@recourse/toolkit-kit/workspace/place';
import { createWorkspace, probeFileAccess } from '@recourse/toolkit-kit/workspace/workspace';
import { quotePath, toWorkspacePath } from '@recourse/toolkit-kit/workspace/workspace-path';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';

/**
 * Reads files of the workspace, whose directory is `root`, as the file tools do: all of one, or one byte more than `most`.
 * Rejects with what a model is told.
 */
export const createWorkspaceReader = (root: string) => {
  const access = probeFileAccess();
  return async (written: string, most: number): Promise<Uint8Array> => {
    const workspace = await createWorkspace({ root, access });
    const path = toWorkspacePath(written);
    const toMissing = (cause: unknown) =>
      new RetryableToolError(
        `There is no file ${quotePath(path)} in the workspace. Call list_files to see what is there.`,
        {
          cause,
        },
      );
    return explainFileErrors({ path, createMissingError: toMissing }, () =>
      withPlace(workspace, path, (place) => readBytes(place, path, { offset: 0, length: most + 1 })),
    );
  };
};
