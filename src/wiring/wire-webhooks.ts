import type { Delivery } from '@recourse/background/webhooks/delivery-store';
import type { WebhookObserver } from '@recourse/background/webhooks/webhook-observer';
import type { ConfigurableWebhooks, Webhooks } from '@recourse/background/webhooks/webhooks';
import type { Logger } from 'pino';
import type { ConfigContent } from '../config/file/load-config-file.ts';
import type { FirstConfigFile } from '../config/file/read-config-file.ts';
import type { Redactor } from '../executor/redactor.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { WiredStore } from './wire-store.ts';

export type WiredWebhooks = Webhooks & {
  /** Uses the endpoints of this version of the configuration file. */
  readonly apply: (content: Pick<ConfigContent, 'webhooks'>) => Promise<void>;
};

export type WebhookParts = {
  /** As it was when the service started; null where there is none. */
  readonly configFile: Pick<FirstConfigFile, 'content'> | null;
  /** Opens what keeps messages. */
  readonly store: Pick<WiredStore, 'openDeliveries' | 'time'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly redactor: Pick<Redactor, 'value'>;
  readonly createId: () => string;
  readonly now: () => number;
};

/** Webhooks as the configuration file says. Loads nothing before an endpoint is named: until then no event is kept. */
export const wireWebhooks = async (parts: WebhookParts): Promise<WiredWebhooks> => {
  let opened: OpenedWebhooks | null = null;
  const wired: WiredWebhooks = {
    has: (tenant, endpoint) => opened?.webhooks.has(tenant, endpoint) ?? false,
    emit: async (event) => opened?.webhooks.emit(event),
    apply: async ({ webhooks: endpoints }) => {
      if (opened === null && endpoints.size === 0) return;
      opened ??= await openWebhooks(parts);
      opened.webhooks.configure(endpoints);
    },
    close: async () => opened?.close(),
  };
  if (parts.configFile !== null) await wired.apply(parts.configFile.content);
  return wired;
};

type OpenedWebhooks = { readonly webhooks: ConfigurableWebhooks; readonly close: () => Promise<void> };

const openWebhooks = async (parts: WebhookParts): Promise<OpenedWebhooks> => {
  const { redactor, createId } = parts;
  const { createWebhooks } = await import('@recourse/background/webhooks/webhooks');
  const { createWebhookObserver } = await import('../telemetry/webhook-logs.ts');
  const { createEndpointClients } = await import('@recourse/background/webhooks/endpoint-clients');
  const observer = createWebhookObserver(parts);
  const clients = createEndpointClients();
  const webhooks = createWebhooks({
    store: await parts.store.openDeliveries(toEvicted(observer)),
    observer,
    openClient: clients.open,
    createId,
    redact: (json) => redactor.value(json, 'result'),
    time: Date.now,
    storeTime: parts.store.time,
    random: Math.random,
  });
  return {
    webhooks,
    close: async () => {
      await webhooks.close();
      await clients.close();
    },
  };
};

const toEvicted =
  ({ attempted }: WebhookObserver) =>
  ({ endpoint, id }: Delivery): void =>
    attempted({ endpoint, id, attempt: 0, result: 'given_up', reason: 'no memory left for messages', retryMs: null });
