import type { Metrics } from 'recourse-server/telemetry/metrics';
import { type CountSeries, createDefinitions } from 'recourse-server/telemetry/tally';
import type { RuleVerdict } from './asked-call.ts';

/** Counts what rules say; adds its metrics to those of the service. The configuration file has at most 100 rules. */
export const createRuleMetrics = ({ registry, toolNames }: Metrics) => {
  const decisions = createDefinitions(registry, toolNames).counter(
    'rule_decisions_total',
    'Calls that a rule of the configuration file decided of: allowed, refused, would_refuse (it observes), unavailable (its store).',
    ['rule', 'decision'],
  );
  const series = new Map<string, CountSeries>();
  return {
    decided: (rule: string, decision: RuleVerdict): void => {
      const name = `${rule} ${decision}`;
      const known = series.get(name) ?? decisions({ rule, decision });
      series.set(name, known);
      known.count += 1;
    },
  };
};
