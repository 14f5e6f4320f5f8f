import { rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';

export const AUDIT: ToolkitAudit = {
  rows: [
    ...rowsOf('echo', [
      ['malformed parameter', '`text` is no text', 'expected a string, got the number 5', 'invalid_arguments'],
    ]),
  ],
};
