import type { Logger } from 'pino';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createLineLimiter } from 'recourse-server/telemetry/repeated-lines';

/** What became of an attempt, or of a message that was not sent. `disabled`: the endpoint wants no more messages. */
const DELIVERY_RESULTS = ['delivered', 'retried', 'given_up', 'disabled'] as const;

export type DeliveryReport = {
  readonly endpoint: string;
  /** `webhook-id` of the message. */
  readonly id: string;
  readonly attempt: number;
  readonly result: (typeof DELIVERY_RESULTS)[number];
  /** `HTTP 503`, or why no answer came. Holds no address and nothing the endpoint said. */
  readonly reason: string;
  /** Milliseconds until the next attempt; null where there is none. */
  readonly retryMs: number | null;
};

/** Watches deliveries. Must not throw. */
export type WebhookObserver = ReturnType<typeof createWebhookObserver>;

/** Metrics of webhooks, and their log lines: a failing endpoint one in ten seconds, a message that is given up always one. */
export const createWebhookObserver = ({
  metrics,
  log,
  now,
}: {
  readonly metrics: Pick<Metrics, 'webhookDeliveries' | 'webhooksWaiting'>;
  readonly log: Pick<Logger, 'debug' | 'warn' | 'error'>;
  readonly now: () => number;
}) => {
  const limit = createLineLimiter(now);
  const write = ({ result, retryMs, ...fields }: DeliveryReport): void => {
    const { endpoint, reason } = fields;
    if (result === 'delivered') log.debug(fields, 'webhook delivered');
    else if (result === 'given_up') log.error(fields, 'webhook given up');
    else if (result === 'disabled')
      limit(`${endpoint} disabled`, () =>
        log.error(fields, 'webhook endpoint disabled: it answered HTTP 410; change its configuration to enable it'),
      );
    else
      limit(`${endpoint} ${reason}`, (equal_lines_left_out) =>
        log.warn({ ...fields, retry_ms: retryMs, equal_lines_left_out }, 'webhook not delivered, trying again'),
      );
  };
  return {
    /** These endpoints are configured from now on. */
    configured: (endpoints: readonly string[]): void => {
      // From 0: the first failure must be visible as an increase.
      for (const endpoint of endpoints)
        for (const result of DELIVERY_RESULTS) metrics.webhookDeliveries({ endpoint, result });
    },
    attempted: (report: DeliveryReport): void => {
      metrics.webhookDeliveries({ endpoint: report.endpoint, result: report.result }).count += 1;
      write(report);
    },
    /** How many messages of an endpoint wait now. */
    waiting: (endpoint: string, count: number): void => {
      metrics.webhooksWaiting({ endpoint }).count = count;
    },
    /** A bug: a delivery could not be handled. It is tried again. */
    failed: (endpoint: string, error: unknown): void =>
      limit(`${endpoint} failed`, () =>
        log.error({ endpoint, causes: describeCauses(error) }, 'webhook could not be handled'),
      ),
    /** Messages ended with the process, which alone had them. */
    lost: (count: number): void =>
      log.warn({ count }, 'webhook messages lost: they were kept only in this process; set REDIS_URL to keep them'),
  };
};
