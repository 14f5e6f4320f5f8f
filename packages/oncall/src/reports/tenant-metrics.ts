import { FAILURE_POLICY, FAULTS } from 'recourse-server/contract/failure';
import type { CallWatch } from 'recourse-server/executor/call-observer';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions, recordOf } from 'recourse-server/telemetry/tally';

const OTHER = '_other';
const NAMED_FAULTS = ['none', ...FAULTS] as const;

/** Counts calls by tenant, for those that METRICS_TENANTS names; all others are `_other`. Adds its metrics to those of the service. */
export const createTenantMetrics = (
  { registry, toolNames }: Metrics,
  tenants: readonly string[],
): Pick<CallWatch, 'answered'> => {
  const define = createDefinitions(registry, toolNames);
  const calls = define.counter(
    'tenant_calls_total',
    'Calls answered, by tenant; fault is none on success. Only with METRICS_TENANTS.',
    ['tenant', 'fault'],
  );
  const seconds = define.counter(
    'tenant_call_seconds_total',
    'Time that handlers of a tenant ran. Only with METRICS_TENANTS.',
    ['tenant'],
  );
  // Created at 0, or rate() would miss the first failure.
  const create = (tenant: string) => ({
    byFault: recordOf(NAMED_FAULTS, (fault) => calls({ tenant, fault })),
    seconds: seconds({ tenant }),
  });
  const other = create(OTHER);
  const named = new Map(tenants.map((tenant) => [tenant, create(tenant)]));
  return {
    answered: (tenant, _tool, failure, durationMs) => {
      const series = named.get(tenant) ?? other;
      series.byFault[failure === null ? 'none' : FAILURE_POLICY[failure.code].fault].count += 1;
      series.seconds.count += durationMs / 1000;
    },
  };
};
