import type { AuditRow } from './audit-row.ts';
import { GOOGLE_ROWS } from './google-rows.ts';
import { NOTES_ROWS } from './notes-rows.ts';
import { OWN_ROWS } from './own-rows.ts';
import { SHELL_ROWS } from './shell-rows.ts';
import { SLACK_ROWS } from './slack-rows.ts';

/** What every tool of the service says when something is not as usual; docs/tools.md shows it, test/tools/audit proves it. */
export const AUDIT_ROWS: readonly AuditRow[] = [
  ...OWN_ROWS,
  ...NOTES_ROWS,
  ...SHELL_ROWS,
  ...GOOGLE_ROWS,
  ...SLACK_ROWS,
];
