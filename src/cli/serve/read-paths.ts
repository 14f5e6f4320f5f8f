import type { KeyFile } from '../../auth/key-file.ts';
import type { Config } from '../../settings/config.ts';
import { createWorkspace } from '../../tools/builtin/workspace/workspace.ts';
import { readDirectory } from '../../tools/directory/read-directory.ts';
import { readFirstKeyFile } from '../../wiring/wire-access.ts';

export type Paths = {
  readonly keyFile: KeyFile | null;
  /** Source files in TOOLS_DIR. */
  readonly toolFiles: readonly string[];
  readonly mistakes: readonly string[];
};

/** Reads what the settings name, as those will who need it, so that these mistakes stand in one list with all others. */
export const readPaths = async (config: Config): Promise<Paths> => {
  const { WORKSPACE_DIR, TOOLS_DIR } = config;
  let keyFile: KeyFile | null = null;
  let toolFiles: readonly string[] = [];
  const readTools = async (directory: string): Promise<void> => {
    toolFiles = [...(await readDirectory(directory)).sources.keys()];
  };
  const readKeys = (): void => {
    keyFile = readFirstKeyFile(config);
  };
  const mistakes = await Promise.all([
    mistakeOf('API_KEYS_FILE', readKeys),
    WORKSPACE_DIR === undefined ? null : mistakeOf('WORKSPACE_DIR', () => createWorkspace({ root: WORKSPACE_DIR })),
    TOOLS_DIR === undefined ? null : mistakeOf('TOOLS_DIR', () => readTools(TOOLS_DIR)),
  ]);
  return { keyFile, toolFiles, mistakes: mistakes.filter((mistake) => mistake !== null) };
};

const mistakeOf = async (setting: string, read: () => unknown): Promise<string | null> => {
  try {
    await read();
    return null;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return problem.startsWith(setting) ? problem : `${setting}: ${problem}`;
  }
};
