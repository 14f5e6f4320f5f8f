import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions } from 'recourse-server/telemetry/tally';

/** What is counted of the audit log; adds its metrics to those of the service. */
export const createAuditMetrics = ({ registry, toolNames }: Pick<Metrics, 'registry' | 'toolNames'>) => {
  const { count, gauge } = createDefinitions(registry, toolNames);
  let isUp = (): boolean => true;
  const lost = count('audit_lost_total', 'Audit lines that could not be written and are lost. Must stay 0.');
  gauge('audit_up', '1: audit lines can be written; 0: they cannot, and wait. Only with AUDIT.', [], (up) =>
    up.set(isUp() ? 1 : 0),
  );
  return {
    lost: (lines: number): void => {
      lost.count += lines;
    },
    /** Where the audit log says whether it can be written. */
    watch: (ask: () => boolean): void => {
      isUp = ask;
    },
  };
};
