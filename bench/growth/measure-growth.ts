import type { Part } from '../part.ts';
import { toTable } from '../to-table.ts';
import { measureApiKeys, measureTenants } from './access.ts';
import { measureConnections } from './connections.ts';
import type { GrowthRow } from './growth-row.ts';
import { measureJournalLines, measureKeyedRecords, measureLiveSessions } from './stores.ts';
import { measureTools, measureUpstreams } from './tools.ts';

const STEPS = [
  measureApiKeys,
  measureTenants,
  measureTools,
  measureLiveSessions,
  measureJournalLines,
  measureKeyedRecords,
  measureUpstreams,
  measureConnections,
] as const;

/** What one call costs as a service fills; one step after the other. */
export const measureGrowth = async (part: Part): Promise<readonly string[]> => {
  const rows: GrowthRow[] = [];
  for (const step of STEPS) {
    const row = await step(part);
    part.progress(`${row.what}: ${row.times.toFixed(2)} ×`);
    rows.push(row);
  }
  return [
    '## Growth',
    toTable(
      ['one call beside', 'as many as', 'CPU µs a batch', 'last to first', 'target', ''],
      rows.map(({ what, counts, micros, times, target, verdict }) => [
        what,
        counts.map(String).join(', '),
        micros.map((value) => value.toFixed(1)).join(', '),
        `${times.toFixed(2)} ×`,
        target,
        verdict,
      ]),
    ),
  ];
};
