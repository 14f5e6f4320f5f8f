import { echo } from './builtin/echo.ts';
import { createFetchUrl } from './builtin/fetch-url.ts';
import { createListFiles } from './builtin/list-files.ts';
import { createReadFile } from './builtin/read-file.ts';
import { createSearchFiles } from './builtin/search-files.ts';
import { createWorkspace } from './builtin/workspace/workspace.ts';
import { createWriteFile } from './builtin/write-file.ts';
import type { Tool } from './tool.ts';

export type BuiltinOptions = {
  readonly workspaceDir: string;
  readonly privateAddresses: 'refuse' | 'allow';
  readonly userAgent: string;
};

/** The tools every service has. Rejects with one sentence when the workspace cannot be used. */
export const createBuiltinTools = async (
  options: BuiltinOptions,
): Promise<{ readonly tools: readonly Tool[]; readonly close: () => Promise<void> }> => {
  const workspace = await createWorkspace({ root: options.workspaceDir });
  const fetchUrl = createFetchUrl(options);
  const tools = [
    echo,
    createReadFile(workspace),
    createListFiles(workspace),
    createSearchFiles(workspace),
    createWriteFile(workspace),
    fetchUrl.tool,
    // Add a tool of your own here.
  ];
  return { tools, close: fetchUrl.close };
};
