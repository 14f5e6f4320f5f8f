import { PROC_TABLE } from './proc-table.ts';
import type { ProcessTable } from './process-table.ts';
import { PS_LIST } from './ps-list.ts';
import { createPsTable, GROUP_TABLE } from './ps-table.ts';

/** /proc where it tells of this very process, else `ps` where that does, else process groups alone. */
export const findProcessTable = (): ProcessTable => {
  if (PROC_TABLE.residentBytes(process.pid) > 0) return PROC_TABLE;
  return PS_LIST.now().has(process.pid) ? createPsTable() : GROUP_TABLE;
};
