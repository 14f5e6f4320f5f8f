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
  const series = new Map<string, Map<RuleVerdict, CountSeries>>();
  return {
    decided: (rule: string, decision: RuleVerdict): void => {
      const ofRule = series.get(rule) ?? new Map<RuleVerdict, CountSeries>();
      series.set(rule, ofRule);
      const known = ofRule.get(decision) ?? decisions({ rule, decision });
      ofRule.set(decision, known);
      known.count += 1;
    },
  };
};
