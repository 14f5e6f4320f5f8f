import { echo } from '../builtin/echo.ts';
import { createFetchUrl } from '../builtin/fetch-url.ts';
import { createListFiles } from '../builtin/list-files.ts';
import { createReadFile } from '../builtin/read-file.ts';
import { createSearchFiles } from '../builtin/search-files.ts';
import type { FileAccess } from '../builtin/workspace/file-access.ts';
import { createFileSearch } from '../builtin/workspace/search-thread.ts';
import { createWorkspace } from '../builtin/workspace/workspace.ts';
import { createWriteFile } from '../builtin/write-file.ts';
import type { ToolFamily } from '../tool-family.ts';
import { createOptionalTools, type OptionalToolsOptions } from './optional-tools.ts';

export type BuiltinOptions = {
  readonly workspaceDir: string;
  /** How the file tools keep to their directories. */
  readonly access: FileAccess;
  readonly privateAddresses: 'refuse' | 'allow';
  readonly allowedAddresses: readonly string[];
  readonly userAgent: string;
  readonly optional: Omit<OptionalToolsOptions, 'access'>;
};

// What a start says where the file tools promise less. See docs/security.md.
const KEPT_BY_PATHS =
  'file tools compare paths: without /proc/self/fd a local process that swaps directories for links could mislead them';

/** The tools every service has, and those that it was asked for. Rejects with one sentence when the workspace cannot be used. */
export const createBuiltinTools = async (options: BuiltinOptions): Promise<Required<ToolFamily>> => {
  const { access } = options;
  const workspace = await createWorkspace({ root: options.workspaceDir, access });
  if (access === 'paths') options.optional.log.warn({}, KEPT_BY_PATHS);
  const fetchUrl = createFetchUrl(options);
  const files = createFileSearch();
  const optional = await createOptionalTools({ ...options.optional, access });
  const tools = [
    echo,
    createReadFile(workspace),
    createListFiles(workspace),
    createSearchFiles(workspace, { files }),
    createWriteFile(workspace),
    fetchUrl.tool,
    // Add a tool of your own here.
    ...optional.tools,
  ];
  const close = (): Promise<void> =>
    Promise.all([fetchUrl.close(), files.close(), optional.close()]).then(() => undefined);
  return { tools, unavailable: optional.unavailable ?? [], close };
};
