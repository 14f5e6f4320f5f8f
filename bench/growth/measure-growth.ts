import type { Part } from '../part.ts';
import { toTable } from '../to-table.ts';
import { measureApiKeys, measureTenants } from './access.ts';
import { measureConnections } from './connections.ts';
import type { GrowthRow } from './growth-row.ts';
import { measureJournalLines, measureKeyedRecords, measureLiveSessions } from './stores.ts';
import { measureTools, measureUpstreams } from './tools.ts';

const one =
  (measure: (part: Part) => Promise<GrowthRow>) =>
  async (part: Part): Promise<readonly GrowthRow[]> => [await measure(part)];

const STEPS = [
  one(measureApiKeys),
  one(measureTenants),
  measureTools,
  one(measureLiveSessions),
  one(measureJournalLines),
  one(measureKeyedRecords),
  one(measureUpstreams),
  one(measureConnections),
] as const;

/** What one call costs as a service fills; one step after the other. */
export const measureGrowth = async (part: Part): Promise<readonly string[]> => {
  const rows: GrowthRow[] = [];
  for (const step of STEPS) {
    const added = await step(part);
    for (const row of added) part.progress(`${row.what}: ${row.times.toFixed(2)} ×`);
    rows.push(...added);
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
