import { createFileSearch, createWorkspace } from '@recourse/toolkit-kit/directories';
import type { ExtensionHost, OpenedTools } from 'recourse-server/extension';
import { createListFiles } from './list-files.ts';
import { createReadFile } from './read-file.ts';
import { createSearchFiles } from './search-files.ts';
import { createWriteFile } from './write-file.ts';

// What a start says where the file tools promise less. See docs/security.md.
const KEPT_BY_PATHS =
  'no /proc/self/fd: file tools compare paths, so a local process that replaces directories by links could mislead them';

/** `read_file`, `list_files`, `search_files`, `write_file`. Rejects with one sentence where the workspace cannot be used. */
export const createFileTools = async ({
  workspaceDir,
  fileAccess,
  log,
}: Pick<ExtensionHost, 'workspaceDir' | 'fileAccess' | 'log'>): Promise<OpenedTools> => {
  const workspace = await createWorkspace({ root: workspaceDir, access: fileAccess });
  if (workspace.access === 'paths') log.warn({}, KEPT_BY_PATHS);
  const search = createFileSearch();
  return {
    tools: [
      createReadFile(workspace),
      createListFiles(workspace),
      createSearchFiles(workspace, { files: search }),
      createWriteFile(workspace),
    ],
    close: search.close,
  };
};
