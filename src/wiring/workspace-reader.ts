import { tellFileErrors } from '@recourse/toolkit-kit/workspace/file-errors';
import { readBytes, withPlace } from '@recourse/toolkit-kit/workspace/place';
import { createWorkspace, probeFileAccess } from '@recourse/toolkit-kit/workspace/workspace';
import { quotePath, toWorkspacePath } from '@recourse/toolkit-kit/workspace/workspace-path';
import type { Config } from '../config/settings/config.ts';
import { workspaceDirOf } from '../config/workspace-guard.ts';
import { RetryableToolError } from '../tools/tool-errors.ts';

/**
 * Reads files of the workspace as the file tools do: all of one, or one byte more than `most`. Rejects with what a model
 * is told.
 */
export const createWorkspaceReader = (config: Pick<Config, 'WORKSPACE_DIR'>) => {
  const access = probeFileAccess();
  return async (written: string, most: number): Promise<Uint8Array> => {
    const workspace = await createWorkspace({ root: workspaceDirOf(config), access });
    const path = toWorkspacePath(written);
    const toMissing = (cause: unknown) =>
      new RetryableToolError(
        `There is no file ${quotePath(path)} in the workspace. Call list_files to see what is there.`,
        {
          cause,
        },
      );
    return tellFileErrors({ path, toMissing }, () =>
      withPlace(workspace, path, (place) => readBytes(place, path, { offset: 0, length: most + 1 })),
    );
  };
};
