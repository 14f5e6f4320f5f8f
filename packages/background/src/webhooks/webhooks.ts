import { hash } from 'node:crypto';
import * as z from 'zod';
import type { createEndpointClients } from './endpoint-clients.ts';
import { EndpointSender, type SenderOptions } from './endpoint-sender.ts';
import type { EndpointSettings, WebhookEventType } from './endpoint-settings.ts';

/** Thin: ids, outcome, code; no arguments, no values, no messages. A caller's event may hold more: only this leaves. */
const WebhookData = z.object({
  request_id: z.string(),
  index: z.int().optional(),
  call: z.string().optional(),
  call_id: z.union([z.string(), z.number(), z.null()]).optional(),
  tool: z.string().optional(),
  approval: z.string().optional(),
  outcome: z.string().optional(),
  executed: z.string().optional(),
  code: z.string().nullable().optional(),
});

/** Something that happened to a pending call, or to a batch of them, for one endpoint. */
export type WebhookEvent = {
  readonly type: WebhookEventType;
  readonly tenant: string;
  /** Its name in the configuration file. */
  readonly endpoint: string;
  readonly data: Readonly<z.infer<typeof WebhookData>>;
  /** Of the events of a tenant that are called the same and are of one type, the endpoint is told the first. */
  readonly once?: string;
};

export type Webhooks = ReturnType<typeof createWebhooks>;

const LIMIT_MS = 15_000;
const LEASE_MS = 2 * LIMIT_MS;
// An endpoint that answers does so within; all others are tried again.
const CLOSE_GRACE_MS = 2_000;

/** Tells endpoints of events, by signed HTTP messages (Standard Webhooks 1.0). There is none until they are configured. */
export const createWebhooks = (
  options: Omit<SenderOptions, 'endpoint' | 'limitMs' | 'leaseMs' | 'clients'> & {
    readonly clients: ReturnType<typeof createEndpointClients>;
    /** Makes an id that no other message has: letters and digits. */
    readonly createId: () => string;
    /** Takes secrets out of JSON. */
    readonly redact: (json: string) => string;
    /** Milliseconds of one attempt. Default: 15 s. */
    readonly limitMs?: number;
    /** Milliseconds until another process takes over the message of one that died. Default: 30 s. */
    readonly leaseMs?: number;
  },
) => {
  const { store, observer, clients, storeTime, createId, redact, limitMs = LIMIT_MS, leaseMs = LEASE_MS } = options;
  const senders = new Map<string, EndpointSender>();
  const stopping = new Set<Promise<void>>();
  const adding = new Set<Promise<unknown>>();
  let endpoints: ReadonlyMap<string, EndpointSettings> = new Map();
  const has = (tenant: string, endpoint: string): boolean => {
    const settings = endpoints.get(endpoint);
    return settings !== undefined && (settings.tenants?.includes(tenant) ?? true);
  };
  const stop = (name: string, sender: EndpointSender): void => {
    senders.delete(name);
    const stopped = sender.stop(CLOSE_GRACE_MS);
    stopping.add(stopped);
    void stopped.then(() => stopping.delete(stopped));
  };
  return {
    /** Whether a tenant may choose this endpoint by `"notify": "ops"`. */
    has,
    /** Keeps the event, then delivers it: at least once, in any order. Never rejects and never waits for the endpoint. */
    emit: async ({ type, tenant, endpoint, data, once }: WebhookEvent): Promise<void> => {
      if (!has(tenant, endpoint) || endpoints.get(endpoint)?.events.includes(type) !== true) return;
      const since = storeTime();
      const body = redact(
        JSON.stringify({ type, timestamp: new Date(since).toISOString(), data: WebhookData.parse(data) }),
      );
      const id = `msg_${once === undefined ? createId() : hashWords(tenant, type, once)}`;
      const delivery = { id, endpoint, tenant, body, since };
      const added = store
        .add(once === undefined ? delivery : { ...delivery, repeats: 'never' })
        .then(undefined, (error: unknown) => {
          observer.failed(endpoint, error);
          return 'full' as const;
        });
      adding.add(added);
      const kept = await added;
      adding.delete(added);
      if (kept !== 'kept')
        observer.attempted({ endpoint, id, attempt: 0, result: 'given_up', reason: WHY_NOT[kept], retryMs: null });
      senders.get(endpoint)?.wake();
    },
    /** Uses these endpoints from now on; messages of one that is gone are not sent any more by this process. */
    configure: (next: ReadonlyMap<string, EndpointSettings>): void => {
      endpoints = next;
      observer.configured([...next.keys()]);
      for (const [name, sender] of senders) {
        if (next.has(name)) continue;
        stop(name, sender);
        observer.waiting(name, 0);
      }
      for (const [endpoint, settings] of next) {
        const existing = senders.get(endpoint);
        const sender = existing ?? new EndpointSender(settings, { ...options, endpoint, limitMs, leaseMs });
        existing?.configure(settings);
        senders.set(endpoint, sender);
        sender.wake();
      }
    },
    /** Ends attempts that run; what is kept elsewhere is delivered by another process. */
    close: async (): Promise<void> => {
      endpoints = new Map();
      for (const [name, sender] of senders) stop(name, sender);
      await Promise.all([...stopping, ...adding]);
      const lost = await store.close();
      if (lost.length > 0) observer.lost(lost.length);
      await clients.close();
    },
  };
};

// The same in each process.
const hashWords = (...words: readonly string[]): string => hash('sha256', words.join('\n')).slice(0, 32);

const WHY_NOT = {
  full: 'too many messages of the endpoint wait',
  no_part: 'the tenant keeps its part of the store',
  no_room: 'the store of messages is nearly full',
} as const;
