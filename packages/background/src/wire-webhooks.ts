import type { Logger } from 'pino';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import type { Delivery, DeliveryStore } from './webhooks/delivery-store.ts';
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
  let opened: ConfigurableWebhooks | null = null;
  const wired: WiredWebhooks = {
    has: (tenant, endpoint) => opened?.has(tenant, endpoint) ?? false,
    emit: async (event) => opened?.emit(event),
    apply: async ({ webhooks: endpoints }) => {
      if (opened === null && endpoints.size === 0) return;
      opened ??= await openWebhooks(parts);
      opened.configure(endpoints);
    },
    close: async () => opened?.close(),
  };
  if (parts.configFile !== null) await wired.apply(parts.configFile.content);
  return wired;
};

const openWebhooks = async (parts: WebhookParts): Promise<ConfigurableWebhooks> => {
  const { backend, redactor, createId } = parts;
  const { createWebhooks } = await import('./webhooks/webhooks.ts');
  const { createWebhookObserver } = await import('./webhooks/webhook-observer.ts');
  const { createEndpointClients } = await import('./webhooks/endpoint-clients.ts');
  const observer = createWebhookObserver(parts);
  const clients = createEndpointClients();
  const webhooks = createWebhooks({
    store: await openDeliveries(backend, describeEvicted(observer)),
    observer,
    openClient: clients.open,
    createId,
    redact: (json) => redactor.value(json, 'result'),
    time: Date.now,
    storeTime: backend.records.now,
    random: Math.random,
  });
  return {
    ...webhooks,
    close: async () => {
      await webhooks.close();
      await clients.close();
    },
  };
};

const describeEvicted =
  ({ attempted }: WebhookObserver) =>
  ({ endpoint, id }: Delivery): void =>
    attempted({ endpoint, id, attempt: 0, result: 'given_up', reason: 'no memory left for messages', retryMs: null });

/** Opens what keeps messages for endpoints; while the store is away, they are in memory. */
const openDeliveries = async (
  { records: store, shared, keysOf, space, sealing, openOutageMemory }: StoreBackend,
  onEvicted: (delivery: Delivery) => void,
): Promise<DeliveryStore> => {
  const { RecordDeliveries } = await import('./deliveries/record-deliveries.ts');
  if (openOutageMemory === null) return new RecordDeliveries({ store, survives: 'nothing', onEvicted });
  const { createFallbackDeliveries } = await import('./deliveries/fallback-deliveries.ts');
  const index = shared === null ? {} : { openIndex: await loadRedisIndex(shared) };
  const primary = new RecordDeliveries({ store, survives: 'process', space, sealing, ...index });
  await primary.restore(keysOf('message'));
  // Its own: what sessions of an outage leave in memory is forgotten when the store is back, messages are not.
  return createFallbackDeliveries({ primary, memory: openOutageMemory(), onEvicted });
};

// Only where there is Redis is what talks to it loaded.
const loadRedisIndex = async ({ client }: NonNullable<StoreBackend['shared']>) => {
  const { createRedisDeliveryIndex } = await import('./jobs/redis-due-index.ts');
  return createRedisDeliveryIndex(client);
};
