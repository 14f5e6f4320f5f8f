import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions } from 'recourse-server/telemetry/tally';
import type { LookResult } from './looker.ts';

/** What is counted of writes that are looked for; adds its metrics to those of the service. */
export const createEffectMetrics = ({ registry, toolNames }: Metrics) => {
  const { counter, gauge, tallyGauge } = createDefinitions(registry, toolNames);
  const looks = counter('reconciles_total', 'Looks for writes whose outcome is unknown, by what they came to.', [
    'tool',
    'verdict',
  ]);
  const contradictions = counter(
    'reconcile_contradictions_total',
    'Writes that ended otherwise than their reconcile had said. Must stay 0.',
    ['tool'],
  );
  const open = tallyGauge(
    'unknown_outcomes',
    'Writes whose outcome is unknown now; every replica shows the same number.',
    ['tool'],
  );
  const shown = new Set<string>();
  let oldestSeconds = 0;
  gauge(
    'unknown_outcome_oldest_seconds',
    'For how long the outcome of the oldest such write has been unknown; 0: there is none.',
    [],
    (age) => age.set(oldestSeconds),
  );
  return {
    /** All that are unknown now: how many of each tool, and how old the oldest is in milliseconds. */
    sampled: (counts: ReadonlyMap<string, number>, oldestMs: number): void => {
      for (const tool of counts.keys()) shown.add(tool);
      for (const tool of shown) open({ tool }).count = counts.get(tool) ?? 0;
      oldestSeconds = oldestMs / 1000;
    },
    looked: (tool: string, verdict: LookResult): void => {
      looks({ tool, verdict }).count += 1;
    },
    contradicted: (tool: string): void => {
      contradictions({ tool }).count += 1;
    },
  };
};
