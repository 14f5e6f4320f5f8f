import { afterAll, expect, test } from 'vitest';
import { type AuditRow, toRowName } from '../../../scripts/tools-audit/audit-row.ts';
import { type Arrangements, createAuditLab } from './audit-lab.ts';
import { checkRow } from './check-row.ts';

/** Tests that each row is true: its arrangement brings the real tool there, and the tool says what the row says. */
export const describeRows = (rows: readonly AuditRow[], arrangements: Arrangements): void => {
  const lab = createAuditLab();
  afterAll(() => lab.close());

  test('every row has an arrangement, every arrangement a row, and no two rows one name', () => {
    expect(rows.map(toRowName).sort()).toEqual(Object.keys(arrangements).sort());
  });

  test.for(rows.map((row) => [toRowName(row), row] as const))('%s', async ([name, row]) => {
    const arrange = arrangements[name];
    if (arrange === undefined) throw new Error('Nothing brings the tool there.');
    checkRow(row, await arrange(lab));
  });
};
