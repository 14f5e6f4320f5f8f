import type { Logger } from 'pino';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import type { Delivery, DeliveryStore } from './webhooks/delivery-store.ts';
import type { EndpointSettings } from './webhooks/endpoint-settings.ts';
import type { WebhookEvent, Webhooks } from './webhooks/webhooks.ts';

export type WebhookParts = {
  /** As it was when the service started; null where there is none. */
  readonly configFile: { readonly content: { readonly webhooks: ReadonlyMap<string, EndpointSettings> } } | null;
  /** Where messages are kept. */
  readonly backend: StoreBackend;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly redactor: Pick<Redactor, 'value'>;
  readonly createId: () => string;
  readonly now: () => number;
};

/** Webhooks as the configuration file says. Loads nothing before an endpoint is named: until then no event is kept. */
export const wireWebhooks = async (parts: WebhookParts) => {
  let opened: Webhooks | null = null;
  const apply = async ({ webhooks: endpoints }: NonNullable<WebhookParts['configFile']>['content']): Promise<void> => {
    if (opened === null && endpoints.size === 0) return;
    opened ??= await openWebhooks(parts);
    opened.configure(endpoints);
  };
  if (parts.configFile !== null) await apply(parts.configFile.content);
  return {
    has: (tenant: string, endpoint: string): boolean => opened?.has(tenant, endpoint) ?? false,
    emit: async (event: WebhookEvent): Promise<void> => opened?.emit(event),
    /** Uses the endpoints of this version of the configuration file. */
    apply,
    close: async (): Promise<void> => opened?.close(),
  };
};

const openWebhooks = async (parts: WebhookParts): Promise<Webhooks> => {
  const { backend, redactor, createId } = parts;
  const { createWebhooks } = await import('./webhooks/webhooks.ts');
  const { createWebhookObserver } = await import('./webhooks/webhook-observer.ts');
  const { createEndpointClients } = await import('./webhooks/endpoint-clients.ts');
  const observer = createWebhookObserver(parts);
  const onEvicted = ({ endpoint, id }: Delivery): void =>
    observer.attempted({ ...{ endpoint, id, retryMs: null }, ...EVICTED });
  return createWebhooks({
    ...{ observer, createId, random: Math.random },
    store: await openDeliveries(backend, onEvicted),
    clients: createEndpointClients(),
    redact: (json) => redactor.value(json, 'result'),
    time: Date.now,
    storeTime: backend.records.now,
  });
};

const EVICTED = { attempt: 0, result: 'given_up', reason: 'no memory left for messages' } as const;

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
