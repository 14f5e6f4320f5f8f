import { createApprovalMetrics } from '@recourse/decide/approval-metrics';
import { createAuditMetrics } from '@recourse/decide/audit/audit-metrics';
import { createEffectMetrics } from '@recourse/decide/effect-metrics';
import { createRuleMetrics } from '@recourse/decide/rules/rule-metrics';
import { createListMetrics } from '@recourse/oncall/lists/lists';
import { createTenantMetrics } from '@recourse/oncall/reports/tenant-metrics';
import type { Registry } from 'prom-client';
import { createMetrics } from '../src/telemetry/metrics.ts';

/** The metrics of the service and of its packages, as a service has them that has counted nothing. */
export const createAllMetrics = (): Registry => {
  const metrics = createMetrics('0.0.0');
  createEffectMetrics(metrics);
  createAuditMetrics(metrics);
  createRuleMetrics(metrics);
  createApprovalMetrics(metrics);
  createTenantMetrics(metrics, []);
  createListMetrics(metrics);
  return metrics.registry;
};
