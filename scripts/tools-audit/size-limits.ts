import { FLOOD_BYTES } from '../../src/tools/builtin/shell/sandbox.ts';
import { MAX_FILE_BYTES, MIB } from '../../src/tools/builtin/shell/sandbox-words.ts';
import { DEFAULT_SEARCH_LIMITS } from '../../src/tools/builtin/workspace/search-text.ts';

const toMebibytes = (bytes: number): string => `${bytes / MIB} MiB`;

const { maxEntries, maxMatches, maxFileBytes, maxTotalBytes, maxMs } = DEFAULT_SEARCH_LIMITS;

/** What of a tool is bounded beside its time and its arguments, as its code has it. Settings have a column of their own. */
export const SIZE_LIMITS: Readonly<Record<string, readonly string[]>> = {
  search_files: [
    `${maxMatches} matches`,
    `${toMebibytes(maxFileBytes)} of a file`,
    `${toMebibytes(maxTotalBytes)} in all`,
    `${maxEntries / 1000} thousand names of files and directories`,
    `ends after ${maxMs / 1000} s with what it has found`,
  ],
  run_shell_command: [`${toMebibytes(FLOOD_BYTES)} of output`, `files of ${toMebibytes(MAX_FILE_BYTES)}`],
};
