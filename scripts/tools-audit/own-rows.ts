import { type AuditRow, rowsOf } from './audit-row.ts';

const OUTSIDE = "'../notes.md' leads out of the workspace. Send a path relative to the workspace, without '..'.";

/** The tools that every service has. */
export const OWN_ROWS: readonly AuditRow[] = [
  ...rowsOf('echo', [
    ['malformed parameter', '`text` is no text', 'expected a string, got the number 5', 'invalid_arguments'],
  ]),
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
    ['malformed parameter', '`limit` is too large', 'Too big: expected number to be <=131072', 'invalid_arguments'],
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
      "'.git/config' was not written: it belongs to a Git directory, whose files can make Git run commands. Choose a path outside of it.",
    ],
    ['wrong value', 'the path is a directory', "'empty' is a directory. Send the path of a file in it."],
    [
      'wrong value',
      'the content is over 1 MiB',
      "The content for 'large.md' has 1048577 bytes; at most 1048576 can be written. Send less, or several files.",
    ],
    ['malformed parameter', '`content` is missing', "Required parameter 'content' missing.", 'invalid_arguments'],
  ]),
  ...rowsOf('fetch_url', [
    ['list is empty', 'the page has no content', "URL '…' answered without content."],
    [
      'malformed parameter',
      '`url` is no URL',
      "'example' is not a URL. Send an absolute one, for example https://example.com/page.",
    ],
    [
      'wrong value',
      'the address is not public',
      "URL 'http://127.0.0.1/' was not fetched: its address is not public. Use a public URL.",
    ],
    ['wrong value', 'there is no such page (404)', "HTTP 404: URL '…' not found. Try a different URL."],
    [
      'wrong value',
      'the page is no text',
      "URL '…' is image/png, not text. Use a URL that answers with text, such as an HTML page.",
    ],
    [
      'credentials refused',
      'the page asks for a login (401)',
      "HTTP 401: URL '…' needs a login, and none is sent. Use a source that is open to everyone.",
    ],
    ['no access', 'access is forbidden (403)', "HTTP 403: access to URL '…' is forbidden. Use another source."],
    [
      'rate limit',
      'the server limits us (429)',
      'Rate limit exceeded (429). Try again in 60 seconds or use another source.',
      'upstream_rate_limited',
    ],
    [
      'upstream is down',
      'the server is not available (503)',
      "HTTP 503: the server of URL '…' is not available. Try again in 60 seconds or use another source.",
    ],
  ]),
];
