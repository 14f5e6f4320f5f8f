import type { Logger } from 'pino';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { openDeliveries } from './open-deliveries.ts';
import type { Delivery } from './webhooks/delivery-store.ts';
import type { EndpointSettings } from './webhooks/endpoint-settings.ts';
import type { WebhookObserver } from './webhooks/webhook-observer.ts';
import type { ConfigurableWebhooks, Webhooks } from './webhooks/webhooks.ts';

/** What a version of the configuration file says of endpoints. */
type Endpoints = { readonly webhooks: ReadonlyMap<string, EndpointSettings> };

export type WiredWebhooks = Webhooks & {
  /** Uses the endpoints of this version of the configuration file. */
  readonly apply: (content: Endpoints) => Promise<void>;
};

export type WebhookParts = {
  /** As it was when the service started; null where there is none. */
  readonly configFile: { readonly content: Endpoints } | null;
  /** Where messages are kept. */
  readonly backend: StoreBackend;
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
  const { backend, redactor, createId } = parts;
  const { createWebhooks } = await import('./webhooks/webhooks.ts');
  const { createWebhookObserver } = await import('./webhooks/webhook-logs.ts');
  const { createEndpointClients } = await import('./webhooks/endpoint-clients.ts');
  const observer = createWebhookObserver(parts);
  const clients = createEndpointClients();
  const webhooks = createWebhooks({
    store: await openDeliveries(backend, toEvicted(observer)),
    observer,
    openClient: clients.open,
    createId,
    redact: (json) => redactor.value(json, 'result'),
    time: Date.now,
    storeTime: backend.records.now,
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
