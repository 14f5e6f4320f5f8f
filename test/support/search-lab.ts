import { createSearchFiles } from '@recourse/toolkit-files/search-files';
import { createFileSearch, type FileSearchOptions } from '@recourse/toolkit-kit/workspace/search-thread';
import { onTestFinished } from 'vitest';
import { runTool } from './run-tool.ts';
import { createTemporaryWorkspace } from './temporary-workspace.ts';

/** Looking for LONG_QUERY in this text of 2 MiB takes about a second, wherever it is done. */
export const LONG_TEXT = 'a'.repeat(2_097_152);
export const LONG_QUERY = `${'a'.repeat(500)}b${'a'.repeat(499)}`;

/** `search_files` on files of its own, with a thread of its own; all of it ends with the test. */
export const startSearchLab = async (
  files: Readonly<Record<string, string | Uint8Array>>,
  options?: FileSearchOptions,
) => {
  const held = await createTemporaryWorkspace(files);
  const thread = createFileSearch(options);
  onTestFinished(async () => {
    await thread.close();
    await held[Symbol.asyncDispose]();
  });
  const tool = createSearchFiles(held.workspace, { files: thread });
  const search = (input: Readonly<Record<string, unknown>>, signal?: AbortSignal) => runTool(tool, input, signal);
  return { ...held, tool, search, close: thread.close };
};
