import { line, only, type Row } from './panel.ts';
import { rate, series, sumBy } from './queries.ts';

export const WORKERS_ROW: Row = {
  title: 'Workers and pending calls',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Oldest queued call',
        page: '#overview=lanes',
        alerts: ['RecourseJobsNotTaken', 'RecourseJobsWait'],
        description: 'How long the oldest queued call of each lane has waited for a worker. Workers scale by this.',
        unit: 's',
        queries: only(`max by (lane) (${series('recourse_jobs_oldest_waiting_seconds')})`, '{{lane}}'),
      },
      {
        kind: 'graph',
        title: 'Queued calls',
        page: '#overview=lanes',
        description: 'Calls of each lane that wait for a worker.',
        unit: 'short',
        queries: only(`max by (lane) (${series('recourse_jobs_waiting')})`, '{{lane}}'),
      },
      {
        kind: 'graph',
        title: 'Queued calls that run',
        page: '#overview=lanes',
        description: 'Calls of each lane that workers run now. Flat at its highest while calls wait: add workers.',
        unit: 'short',
        queries: only(sumBy('lane', series('recourse_jobs_running')), '{{lane}}'),
      },
      {
        kind: 'graph',
        title: 'Queued calls taken',
        page: '#overview=lanes',
        description: 'Calls that workers take in a second, by lane.',
        unit: 'ops',
        queries: only(sumBy('lane', rate('recourse_jobs_taken_total')), '{{lane}}'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Calls accepted',
        page: '#pending=',
        description: 'Calls that may end after their request was answered, in a second.',
        unit: 'ops',
        queries: only(sumBy('instance', rate('recourse_pending_calls_accepted_total')), '{{instance}}'),
      },
      {
        kind: 'graph',
        title: 'How queued calls end',
        description:
          'By end, in a second. committed: with a result. not_run: cancelled, expired, or begun by a worker that died. given_back: another worker runs it. keys_unknown: the same, for this one knows no API keys, or older ones than the call. lost: another worker has ended it.',
        unit: 'ops',
        queries: only(sumBy('end', rate('recourse_worker_calls_total')), '{{end}}'),
      },
      {
        kind: 'graph',
        title: 'Leases taken over',
        description:
          'Pending calls, in a second, whose worker let its lease of 5 s lapse: it died, was blocked, or was cut off from Redis.',
        unit: 'ops',
        queries: only(sumBy('instance', rate('recourse_pending_leases_taken_over_total')), '{{instance}}'),
      },
      {
        kind: 'graph',
        title: 'Failed steps on records and jobs',
        description: 'Steps that Redis did not take. They are tried again; a call waits meanwhile.',
        unit: 'ops',
        queries: only(sumBy('instance', rate('recourse_pending_errors_total')), '{{instance}}'),
      },
    ),
  ],
};
