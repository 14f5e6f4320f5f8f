import type { Config } from '../settings/config.ts';
import { probeFileAccess } from '../tools/builtin/workspace/file-access.ts';
import { tellFileErrors } from '../tools/builtin/workspace/file-errors.ts';
import { readBytes } from '../tools/builtin/workspace/read-bytes.ts';
import { withPlace } from '../tools/builtin/workspace/with-place.ts';
import { createWorkspace } from '../tools/builtin/workspace/workspace.ts';
import { quotePath, toWorkspacePath } from '../tools/builtin/workspace/workspace-path.ts';
import { RetryableToolError } from '../tools/tool-errors.ts';
import { workspaceDirOf } from './workspace-guard.ts';

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
