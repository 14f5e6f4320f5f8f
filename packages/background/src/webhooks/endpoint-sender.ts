import { hash } from 'node:crypto';
import type { HttpClient } from '@recourse/toolkit-kit/egress/http-client';
import { isSuccess, parseRetryAfter } from '@recourse/toolkit-kit/egress/response-status';
import type { ClaimedDelivery, DeliveryStore } from './delivery-store.ts';
import type { EndpointSettings } from './endpoint-settings.ts';
import { findRetryDelay } from './retry-schedule.ts';
import { signMessage } from './sign-message.ts';
import type { DeliveryReport, WebhookObserver } from './webhook-observer.ts';

export type SenderOptions = {
  readonly store: DeliveryStore;
  readonly observer: WebhookObserver;
  readonly clients: {
    /** The client that reaches public addresses alone, or all. */
    readonly open: (access: EndpointSettings['privateAddresses']) => Promise<Pick<HttpClient, 'send'>>;
  };
  /** By this machine's clock, in milliseconds since the epoch: what endpoints are told of an attempt. */
  readonly time: () => number;
  /** By that of the store, which all processes have in common: how old messages are. */
  readonly storeTime: () => number;
  /** At least 0, less than 1. */
  readonly random: () => number;
  readonly endpoint: string;
  /** Milliseconds of one attempt. */
  readonly limitMs: number;
  /** Milliseconds for which a claimed message is this process's: longer than an attempt. */
  readonly leaseMs: number;
};

const MOST_AT_ONCE = 4;
// How late a message of a process that died is found, beyond its lease.
const POLL_MS = 5_000;
// What asks for a wait of its own (RFC 9110, section 10.2.3; RFC 6585, section 4).
const ASKS_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

/** What one attempt came to. `status` is null where no answer came. */
type Answer = { readonly reason: string; readonly status: number | null; readonly retryAfterMs?: number | undefined };

/** An endpoint that differs in anything is another one: it may want messages again. */
const versionOf = (settings: EndpointSettings): string => hash('sha256', JSON.stringify(settings));

/**
 * Sends the messages of one endpoint, at most four at once: one slow endpoint takes nothing from another. Begins with its first
 * `wake`. It owns the attempts that run, one claim at a time, and a timer for what is due next.
 *
 * | state   | wake                          | becomes                                            |
 * |---------|-------------------------------|----------------------------------------------------|
 * | idle    | claims what is due            | looking                                            |
 * | looking | claims once more after that   | idle: the store has answered, and nothing woke it  |
 * | stopped | does nothing                  |                                                    |
 */
export class EndpointSender {
  readonly #options: SenderOptions;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #settings: EndpointSettings;
  #isStopped = false;
  #looking: Promise<void> | null = null;
  #isAskedAgain = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: EndpointSettings, options: SenderOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  /** Uses these settings for what is sent from now on. */
  configure(settings: EndpointSettings): void {
    this.#settings = settings;
  }

  /** Looks for messages that are due. */
  readonly wake = (): void => {
    if (this.#isStopped) return;
    if (this.#looking === null) this.#looking = this.#look();
    else this.#isAskedAgain = true;
  };

  /** Starts no further attempt, gives those that run `graceMs` to end, and gives back the others. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const late = setTimeout(() => this.#ending.abort(), graceMs);
    await this.#looking;
    await Promise.all(this.#running);
    clearTimeout(late);
  }

  async #look(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      await this.#claim();
      // A message that came while the store was asked may have been too late for its answer.
    } while (this.#isAskedAgain && !this.#isStopped);
    this.#looking = null;
  }

  async #claim(): Promise<void> {
    const { endpoint, store, observer, leaseMs } = this.#options;
    const free = MOST_AT_ONCE - this.#running.size;
    if (free === 0) return;
    const claim = await store.claim(endpoint, free, leaseMs).then(undefined, (error: unknown) => {
      observer.failed(endpoint, error);
      return { deliveries: [], nextMs: null, waiting: 0, disabled: null };
    });
    if (this.#isStopped) {
      await Promise.all(claim.deliveries.map((delivery) => store.reschedule(delivery, 0)));
      return;
    }
    observer.waiting(endpoint, claim.waiting);
    for (const delivery of claim.deliveries) this.#start(delivery, claim.disabled);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.wake, Math.max(1, Math.min(claim.nextMs ?? POLL_MS, POLL_MS))).unref();
  }

  #start(delivery: ClaimedDelivery, disabled: string | null): void {
    const { endpoint, observer } = this.#options;
    const handled =
      disabled === versionOf(this.#settings)
        ? this.#end(delivery, 'disabled', 'the endpoint answered HTTP 410 before')
        : this.#deliver(delivery, this.#settings);
    const work = handled.then(undefined, (error: unknown) => observer.failed(endpoint, error));
    this.#running.add(work);
    void work.then(() => {
      this.#running.delete(work);
      this.wake();
    });
  }

  /**
   * One attempt to deliver a message, and what follows from it: it is delivered, due again, given up, or its endpoint wants no
   * more. When the sender ends the attempt, the message is due at once, for another process.
   */
  async #deliver(delivery: ClaimedDelivery, settings: EndpointSettings): Promise<void> {
    const { endpoint, store, observer, storeTime, random } = this.#options;
    const answer = await this.#post(delivery, settings).then(undefined, (error: unknown): Answer | null => {
      if (this.#ending.signal.aborted) return null;
      // A bug of ours ends within a day as well.
      observer.failed(endpoint, error);
      return { reason: 'internal_error', status: null };
    });
    if (answer === null) return store.reschedule(delivery, 0);
    const { reason, status, retryAfterMs } = answer;
    if (status !== null && isSuccess(status)) return this.#end(delivery, 'delivered', reason);
    if (status === 410) {
      await store.disable(endpoint, versionOf(settings));
      return this.#end(delivery, 'disabled', reason);
    }
    const { id, attempt, since } = delivery;
    const retryMs = findRetryDelay({ attempt, ageMs: storeTime() - since, retryAfterMs, random: random() });
    if (retryMs === null) return this.#end(delivery, 'given_up', reason);
    await store.reschedule(delivery, retryMs);
    observer.attempted({ endpoint, id, attempt, result: 'retried', reason, retryMs });
  }

  async #end(delivery: ClaimedDelivery, result: DeliveryReport['result'], reason: string): Promise<void> {
    const { endpoint, id, attempt } = delivery;
    await this.#options.store.remove(delivery);
    this.#options.observer.attempted({ endpoint, id, attempt, result, reason, retryMs: null });
  }

  async #post({ id, body }: ClaimedDelivery, settings: EndpointSettings): Promise<Answer> {
    const { clients, time, limitMs } = this.#options;
    const client = await clients.open(settings.privateAddresses);
    const fetched = await client.send({
      url: new URL(settings.url),
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'recourse-webhooks',
        ...signMessage({ id, time: time(), body }, settings.secret),
      },
      body,
      // The status says it all; a body may have no end.
      wantedBytes: () => 0,
      limitMs,
      signal: this.#ending.signal,
      // A redirect would take a signed message to an address that no one configured.
      nextHop: () => null,
      repeats: 'never',
    });
    if (fetched.kind === 'no_answer') return { reason: `${fetched.reason} ${fetched.code}`.trim(), status: null };
    const { status, headers } = fetched;
    const retryAfterMs = ASKS_TO_WAIT.has(status) ? parseRetryAfter(headers.get('retry-after'), time()) : undefined;
    return { reason: `HTTP ${status}`, status, retryAfterMs };
  }
}
