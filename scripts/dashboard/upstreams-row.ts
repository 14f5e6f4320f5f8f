import { line, only, type Row } from './panel.ts';
import { increase, series, sumBy } from './queries.ts';

export const UPSTREAMS_ROW: Row = {
  title: 'Upstreams',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Upstreams that are up',
        alerts: ['RecourseUpstreamDown'],
        description:
          'MCP servers that are connected, and APIs whose document is loaded: 1 is up. While one is down its tools stay known, and each call of them is upstream_unavailable at once.',
        unit: 'short',
        form: 'steps',
        queries: only(`min by (upstream) (${series('recourse_upstream_up')})`, '{{upstream}}'),
      },
      {
        kind: 'graph',
        title: 'Tools of upstreams',
        description:
          'Tools that each upstream offers. A step says that the list changed; replicas that differ talk to different versions.',
        unit: 'short',
        form: 'steps',
        queries: only(series('recourse_upstream_tools'), '{{upstream}} {{instance}}'),
      },
      {
        kind: 'graph',
        title: 'Reconnects',
        description: 'How often the connection to an upstream was made again over the time shown.',
        unit: 'short',
        queries: only(sumBy('upstream', increase('recourse_upstream_reconnects_total')), '{{upstream}}'),
      },
      {
        kind: 'graph',
        title: 'Configuration file refused',
        alerts: ['RecourseConfigFileRefused'],
        description:
          '1 while the configuration file of a replica has a mistake in it, and what it said before is in force. The log says which mistake.',
        unit: 'short',
        form: 'steps',
        queries: only(series('recourse_config_file_refused'), '{{instance}}'),
      },
    ),
  ],
};
