import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions } from 'recourse-server/telemetry/tally';
import type { LookResult } from './looker.ts';

/** What is counted of writes that are looked for. */
export const createEffectMetrics = ({ registry, toolNames }: Metrics) => {
  const { counter, count } = createDefinitions(registry, toolNames);
  const looks = counter('reconciles_total', 'Looks for writes whose outcome is unknown, by what they came to.', [
    'tool',
    'verdict',
  ]);
  const contradictions = counter(
    'reconcile_contradictions_total',
    'Writes that ended otherwise than their reconcile had said. Must stay 0.',
    ['tool'],
  );
  const failed = count('reconcile_errors_total', 'Steps on the effects of writes that failed and are tried again.');
  return {
    looked: (tool: string, verdict: LookResult): void => {
      looks({ tool, verdict }).count += 1;
    },
    contradicted: (tool: string): void => {
      contradictions({ tool }).count += 1;
    },
    stepFailed: (): void => {
      failed.count += 1;
    },
  };
};
