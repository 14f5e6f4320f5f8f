/** What became of an attempt, or of a message that was not sent. `disabled`: the endpoint wants no more messages. */
export const DELIVERY_RESULTS = ['delivered', 'retried', 'given_up', 'disabled'] as const;
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number];

export type DeliveryReport = {
  readonly endpoint: string;
  /** `webhook-id` of the message. */
  readonly id: string;
  readonly attempt: number;
  readonly result: DeliveryResult;
  /** `HTTP 503`, or why no answer came. Holds no address and nothing the endpoint said. */
  readonly reason: string;
  /** Milliseconds until the next attempt; null where there is none. */
  readonly retryMs: number | null;
};

/** Watches deliveries. Must not throw. */
export type WebhookObserver = {
  /** These endpoints are configured from now on. */
  readonly configured: (endpoints: readonly string[]) => void;
  readonly attempted: (report: DeliveryReport) => void;
  /** How many messages of an endpoint wait now. */
  readonly waiting: (endpoint: string, count: number) => void;
  /** A bug: a delivery could not be handled. It is tried again. */
  readonly failed: (endpoint: string, error: unknown) => void;
  /** Messages ended with the process, which alone had them. */
  readonly lost: (count: number) => void;
};
