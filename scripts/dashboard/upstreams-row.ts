import { line, only, type Row } from './panel.ts';
import { increase, series, sumBy } from './queries.ts';

export const UPSTREAMS_ROW: Row = {
  title: 'Upstreams',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Upstreams that are up',
        page: '#overview=upstreams',
        alerts: ['RecourseUpstreamDown'],
        description:
          'MCP servers that are connected, and APIs whose document is loaded: 1 is up. While one is down its tools stay listed, and each call of them immediately fails with upstream_unavailable.',
        unit: 'short',
        form: 'steps',
        queries: only(`min by (upstream) (${series('recourse_upstream_up')})`, '{{upstream}}'),
      },
      {
        kind: 'graph',
        title: 'Tools of upstreams',
        page: '#overview=upstreams',
        description:
          'Tools that each upstream provides. A step means that the list changed; replicas that differ use different versions.',
        unit: 'short',
        form: 'steps',
        queries: only(series('recourse_upstream_tools'), '{{upstream}} {{instance}}'),
      },
      {
        kind: 'graph',
        title: 'Reconnects',
        page: '#overview=upstreams',
        description: 'Reconnections to an upstream over the time shown.',
        unit: 'short',
        queries: only(sumBy('upstream', increase('recourse_upstream_reconnects_total')), '{{upstream}}'),
      },
      {
        kind: 'graph',
        title: 'Configuration file refused',
        alerts: ['RecourseConfigFileRefused'],
        description:
          '1 while the configuration file of a replica is invalid and its previous version is in use. The log names the mistake.',
        unit: 'short',
        form: 'steps',
        queries: only(series('recourse_config_file_refused'), '{{instance}}'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Webhook deliveries',
        alerts: ['RecourseWebhookFailing'],
        description:
          'Attempts to deliver a message to a webhook endpoint over the time shown: delivered, retried later, given up after a day, or disabled because the endpoint answered 410.',
        unit: 'short',
        queries: only(
          sumBy('endpoint, result', increase('recourse_webhook_deliveries_total')),
          '{{endpoint}} {{result}}',
        ),
      },
      {
        kind: 'graph',
        title: 'Webhook messages waiting',
        description:
          'Messages that wait for their delivery. With Redis every replica shows those of all. A rising line means that the endpoint fails or is too slow.',
        unit: 'short',
        queries: only(`max by (endpoint) (${series('recourse_webhooks_waiting')})`, '{{endpoint}}'),
      },
    ),
  ],
};
