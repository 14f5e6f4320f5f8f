import { type AuditRow, rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';

const ADVICE = 'Set NOTES_DIR to a directory of Markdown files.';
const PATH_ADVICE = "Send a path as list_notes and search_notes return it, for example 'projects/plan.md'.";

const setUpRows = (tool: string): readonly AuditRow[] =>
  rowsOf(tool, [
    ['set-up missing', 'NOTES_DIR is not set', `Notes not configured. ${ADVICE}`],
    [
      'set-up missing',
      'NOTES_DIR is the root of the file system',
      `Notes not available: the directory in NOTES_DIR is the root of the file system. ${ADVICE}`,
    ],
    [
      'set-up missing',
      'NOTES_DIR names no directory',
      `Notes not available: the directory in NOTES_DIR does not exist. ${ADVICE}`,
    ],
  ]);

const listRows = (tool: string): readonly AuditRow[] =>
  rowsOf(tool, [
    ['nothing is left', 'a further page holds nothing', 'No more results.'],
    [
      'wrong value',
      'there is no such folder',
      "There is no folder 'project' in the notes. Call list_notes without a folder to list all notes.",
    ],
    ['wrong value', 'the folder leads out of the notes', `'../secret' holds '..'. ${PATH_ADVICE}`],
    ['malformed parameter', '`page` is 0', 'expected a number of at least 1, got the number 0', 'invalid_arguments'],
    [
      'malformed parameter',
      '`page_size` is 51',
      'expected a number of at most 50, got the number 51',
      'invalid_arguments',
    ],
  ]);

const ROWS: readonly AuditRow[] = [
  ...rowsOf('list_notes', [['list is empty', 'there are no notes', 'No notes found.']]),
  ...listRows('list_notes'),
  ...setUpRows('list_notes'),
  ...rowsOf('search_notes', [
    ['search matched nothing', 'no note matches', 'No notes found.'],
    [
      'wrong value',
      'the query holds no word',
      'The query \'?!\' contains no word. Send words to search, such as: release plan, "exact phrase", budg*.',
    ],
  ]),
  ...listRows('search_notes'),
  ...setUpRows('search_notes'),
  ...rowsOf('read_note', [
    ['list is empty', 'the note has no content', "The note 'blank.md' is empty."],
    [
      'wrong value',
      'there is no such note',
      "There is no note 'projects/plann.md'. Did you mean 'projects/plan.md'? Call search_notes or list_notes to find it.",
    ],
    ['wrong value', 'the path leads out of the notes', `'../secret.md' holds '..'. ${PATH_ADVICE}`],
    [
      'wrong value',
      'the note is a link that leads out',
      "There is no note 'linked-elsewhere.md'. Call search_notes or list_notes to find it.",
    ],
    ['wrong value', 'the note is binary', "'binary.md' is binary, not text. Choose another note."],
    [
      'page out of order',
      'the offset is past the end',
      "offset 500 is past the end of 'projects/plan.md', which has … bytes. Send a smaller offset.",
    ],
    [
      'malformed parameter',
      '`limit` is too large',
      'expected a number of at most 131072, got the number 131073',
      'invalid_arguments',
    ],
  ]),
  ...setUpRows('read_note'),
];

export const AUDIT: ToolkitAudit = { rows: ROWS };
