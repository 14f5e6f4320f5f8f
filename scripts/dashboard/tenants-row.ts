import { line, only, type Row } from './panel.ts';
import { rate, share, sumBy } from './queries.ts';

const CALLS = 'recourse_tenant_calls_total';

export const TENANTS_ROW: Row = {
  title: 'By tenant',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Calls by tenant',
        description:
          'Calls per second of the tenants that METRICS_TENANTS names; _other covers all others. Empty without that setting.',
        unit: 'cps',
        queries: only(sumBy('tenant', rate(CALLS)), '{{tenant}}'),
      },
      {
        kind: 'graph',
        title: 'Failures by tenant',
        description: "Share of a tenant's calls that fail, whoever is to blame.",
        unit: 'percentunit',
        max: 1,
        queries: only(share(sumBy('tenant', rate(CALLS, 'fault!="none"')), sumBy('tenant', rate(CALLS))), '{{tenant}}'),
      },
      {
        kind: 'graph',
        title: 'Faults by tenant',
        description: 'Failed calls per second of each tenant, by fault. Those of caller are for its own agents.',
        unit: 'cps',
        queries: only(sumBy('tenant, fault', rate(CALLS, 'fault!="none"')), '{{tenant}}: {{fault}}'),
      },
      {
        kind: 'graph',
        title: 'Handlers running by tenant',
        description: 'How many handlers of a tenant run on average: what it occupies of the service.',
        unit: 'short',
        queries: only(sumBy('tenant', rate('recourse_tenant_call_seconds_total')), '{{tenant}}'),
      },
    ),
  ],
};
