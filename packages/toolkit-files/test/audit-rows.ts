import { DEFAULT_SEARCH_LIMITS } from '@recourse/toolkit-kit/workspace/search-thread';
import { rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';

const OUTSIDE = "'../notes.md' leads out of the workspace. Send a path relative to the workspace, without '..'.";
const MIB = 1_048_576;
const { maxEntries, maxMatches, maxFileBytes, maxTotalBytes, maxMs } = DEFAULT_SEARCH_LIMITS;

export const AUDIT: ToolkitAudit = {
  rows: [
    ...rowsOf('read_file', [
      ['list is empty', 'the file has no content', 'The file is empty.'],
      ['nothing is left', 'the offset is the end of the file', 'The end of the file is reached.'],
      ['wrong value', 'the path leads out of the workspace', OUTSIDE],
      [
        'wrong value',
        'there is no such file',
        "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
        'tool_exception',
      ],
      ['wrong value', 'the file is binary', "'logo.bin' is binary, or not UTF-8 text. Choose a text file."],
      [
        'page out of order',
        'the offset is past the end',
        "offset 500 is past the end of 'notes.md', which has … bytes. Send a smaller offset.",
      ],
      [
        'malformed parameter',
        '`limit` is too large',
        'expected a number of at most 131072, got the number 131073',
        'invalid_arguments',
      ],
    ]),
    ...rowsOf('list_files', [
      ['list is empty', 'the directory has no entries', 'The directory is empty.'],
      ['nothing is left', 'no name sorts after `after`', 'No further entries.'],
      ['wrong value', 'the path leads out of the workspace', OUTSIDE],
      [
        'wrong value',
        'the path is a file',
        "'notes.md' is not a directory. Call read_file to read a file, or send the path of a directory.",
      ],
      ['malformed parameter', '`path` is no text', 'expected a string, got the number 5', 'invalid_arguments'],
    ]),
    ...rowsOf('search_files', [
      ['search matched nothing', 'no line matches', 'No matches found.'],
      ['wrong value', 'the path leads out of the workspace', OUTSIDE],
      ['wrong value', 'the file is binary', "'logo.bin' is binary. Choose a text file or a directory."],
      ['malformed parameter', '`query` has two lines', 'must be one line', 'invalid_arguments'],
    ]),
    ...rowsOf('write_file', [
      ['wrong value', 'the path leads out of the workspace', OUTSIDE],
      [
        'wrong value',
        'the path is in a Git directory',
        "'.git/config' was not written: it belongs to a Git directory, whose files can make Git run commands. Choose a path outside it.",
      ],
      ['wrong value', 'the path is a directory', "'empty' is a directory. Send the path of a file in it."],
      [
        'wrong value',
        'the content is over 1 MiB',
        "The content for 'large.md' has 1048577 bytes; at most 1048576 can be written. Send less, or several files.",
      ],
      ['malformed parameter', '`content` is missing', "Required parameter 'content' missing.", 'invalid_arguments'],
    ]),
  ],
  limits: {
    search_files: [
      `${maxMatches} matches`,
      `${maxFileBytes / MIB} MiB of a file`,
      `${maxTotalBytes / MIB} MiB in all`,
      `${maxEntries / 1000} thousand names of files and directories`,
      `ends after ${maxMs / 1000} s with what it has found`,
    ],
  },
};
