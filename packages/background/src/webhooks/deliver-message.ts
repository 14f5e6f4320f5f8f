import type { Fetched, HttpClient } from '@recourse/toolkit-kit/egress/http-client';
import { isSuccess, parseRetryAfter } from '@recourse/toolkit-kit/egress/response-status';
import type { ClaimedDelivery, DeliveryStore } from './delivery-store.ts';
import type { EndpointSettings } from './endpoint-settings.ts';
import { toRetryDelay } from './retry-schedule.ts';
import { signMessage } from './sign-message.ts';
import type { DeliveryReport, WebhookObserver } from './webhook-observer.ts';

/** What messages are sent with. */
export type DeliverOptions = {
  readonly store: DeliveryStore;
  readonly observer: WebhookObserver;
  /** The client that reaches public addresses alone, or all. */
  readonly openClient: (access: EndpointSettings['privateAddresses']) => Promise<Pick<HttpClient, 'send'>>;
  /** By this machine's clock, in milliseconds since the epoch: what endpoints are told of an attempt. */
  readonly time: () => number;
  /** By that of the store, which all processes have in common: how old messages are. */
  readonly storeTime: () => number;
  /** At least 0, less than 1. */
  readonly random: () => number;
  /** Milliseconds of one attempt. */
  readonly limitMs: number;
};

/** An endpoint as it is configured at the moment. */
export type EndpointVersion = { readonly settings: EndpointSettings; readonly version: string };

/** What one attempt came to. `status` is null where no answer came. */
type Attempted = {
  readonly reason: string;
  readonly status: number | null;
  readonly retryAfterMs: number | undefined;
};

/**
 * One attempt to deliver a message, and what follows from it: it is delivered, due again, given up, or its endpoint wants
 * no more. When `signal` aborts, the attempt ends and the message is due at once, for another process.
 */
export const createDeliver =
  (options: DeliverOptions, signal: AbortSignal) =>
  async (delivery: ClaimedDelivery, endpoint: EndpointVersion): Promise<void> => {
    const attempted = await post(delivery, endpoint.settings, options, signal).then(undefined, (error: unknown) => {
      if (signal.aborted) return null;
      // A bug of ours ends within a day as well.
      options.observer.failed(delivery.endpoint, error);
      return INTERNAL;
    });
    await (attempted === null
      ? options.store.reschedule(delivery, 0)
      : settle(delivery, attempted, endpoint.version, options));
  };

const INTERNAL: Attempted = { reason: 'internal_error', status: null, retryAfterMs: undefined };

/** The report of a delivery. */
export const toReport = (
  { endpoint, id, attempt }: ClaimedDelivery,
  result: DeliveryReport['result'],
  reason: string,
): DeliveryReport => ({ endpoint, id, attempt, result, reason, retryMs: null });

const post = async (
  { id, body }: ClaimedDelivery,
  { url, secret, privateAddresses }: EndpointSettings,
  { openClient, time, limitMs }: DeliverOptions,
  signal: AbortSignal,
): Promise<Attempted> => {
  const client = await openClient(privateAddresses);
  const fetched = await client.send({
    url: new URL(url),
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'recourse-webhooks',
      ...signMessage({ id, time: time(), body }, secret),
    },
    body,
    // The status says it all; a body may have no end.
    wantedBytes: () => 0,
    limitMs,
    signal,
    // A redirect would take a signed message to an address that no one configured.
    nextHop: () => null,
    repeats: 'never',
  });
  return toAttempted(fetched, time());
};

// What asks for a wait of its own (RFC 9110, section 10.2.3; RFC 6585, section 4).
const ASKS_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

const toAttempted = (fetched: Fetched, now: number): Attempted => {
  if (fetched.kind === 'no_answer')
    return { reason: `${fetched.reason} ${fetched.code}`.trim(), status: null, retryAfterMs: undefined };
  const { status, headers } = fetched;
  const retryAfterMs = ASKS_TO_WAIT.has(status) ? parseRetryAfter(headers.get('retry-after'), now) : undefined;
  return { reason: `HTTP ${status}`, status, retryAfterMs };
};

const settle = async (
  delivery: ClaimedDelivery,
  { reason, status, retryAfterMs }: Attempted,
  version: string,
  { store, observer, storeTime, random }: DeliverOptions,
): Promise<void> => {
  const end = async (result: DeliveryReport['result']): Promise<void> => {
    await store.remove(delivery);
    observer.attempted(toReport(delivery, result, reason));
  };
  if (status !== null && isSuccess(status)) return end('delivered');
  if (status === 410) {
    await store.disable(delivery.endpoint, version);
    return end('disabled');
  }
  const ageMs = storeTime() - delivery.since;
  const retryMs = toRetryDelay({ attempt: delivery.attempt, ageMs, retryAfterMs, random: random() });
  if (retryMs === null) return end('given_up');
  await store.reschedule(delivery, retryMs);
  observer.attempted({ ...toReport(delivery, 'retried', reason), retryMs });
};
