import { FAULTS, type Fault } from 'recourse-server/contract/failure';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions, recordOf } from 'recourse-server/telemetry/tally';

const OTHER = '_other';
const NAMED_FAULTS = ['none', ...FAULTS] as const;

/** Counts calls by tenant, for those that METRICS_TENANTS names; all others are `_other`. Adds its metrics to those of the service. */
export const createTenantMetrics = ({ registry, toolNames }: Metrics, tenants: readonly string[]) => {
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
    answered: (tenant: string, fault: Fault | null, durationMs: number): void => {
      const series = named.get(tenant) ?? other;
      series.byFault[fault ?? 'none'].count += 1;
      series.seconds.count += durationMs / 1000;
    },
  };
};
