import type { Logger } from 'pino';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createLineLimiter } from 'recourse-server/telemetry/repeated-lines';
import {
  DELIVERY_RESULTS,
  type DeliveryReport,
  type DeliveryResult,
  type WebhookObserver,
} from './webhook-observer.ts';

type ObserverOptions = {
  readonly metrics: Pick<Metrics, 'webhookDeliveries' | 'webhooksWaiting'>;
  readonly log: Logger;
  readonly now: () => number;
};

/** Metrics of webhooks, and their log lines: a failing endpoint one in ten seconds, a message that is given up always one. */
export const createWebhookObserver = ({ metrics, log, now }: ObserverOptions): WebhookObserver => {
  const tell = createLineLimiter(now);
  const write = {
    delivered: (report) => log.debug(pickFields(report), 'webhook delivered'),
    retried: (report) =>
      tell(`${report.endpoint} ${report.reason}`, (equal_lines_left_out) =>
        log.warn(
          { ...pickFields(report), retry_ms: report.retryMs, equal_lines_left_out },
          'webhook not delivered, trying again',
        ),
      ),
    given_up: (report) => log.error(pickFields(report), 'webhook given up'),
    disabled: (report) =>
      tell(`${report.endpoint} disabled`, () =>
        log.error(
          pickFields(report),
          'webhook endpoint disabled: it answered HTTP 410; change its configuration to enable it',
        ),
      ),
  } satisfies Record<DeliveryResult, (report: DeliveryReport) => void>;
  return {
    configured: (endpoints) => {
      // From 0: the first failure must be visible as an increase.
      for (const endpoint of endpoints)
        for (const result of DELIVERY_RESULTS) metrics.webhookDeliveries({ endpoint, result });
    },
    attempted: (report) => {
      metrics.webhookDeliveries({ endpoint: report.endpoint, result: report.result }).count += 1;
      write[report.result](report);
    },
    waiting: (endpoint, count) => {
      metrics.webhooksWaiting({ endpoint }).count = count;
    },
    failed: (endpoint, error) =>
      tell(`${endpoint} failed`, () =>
        log.error({ endpoint, causes: describeCauses(error) }, 'webhook could not be handled'),
      ),
    lost: (count) =>
      log.warn({ count }, 'webhook messages lost: they were kept only in this process; set REDIS_URL to keep them'),
  };
};

const pickFields = ({ endpoint, id, attempt, reason }: DeliveryReport) => ({ endpoint, id, attempt, reason });
