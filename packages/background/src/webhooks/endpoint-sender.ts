import { hash } from 'node:crypto';
import { createDeliver, type DeliverOptions, type EndpointVersion, toReport } from './deliver-message.ts';
import { type Claim, type ClaimedDelivery, NO_CLAIM } from './delivery-store.ts';
import type { EndpointSettings } from './endpoint-settings.ts';

/** Sends the messages of one endpoint, at most four at once: one slow endpoint takes nothing from another. */
export type EndpointSender = {
  /** Uses these settings for what is sent from now on. */
  readonly configure: (settings: EndpointSettings) => void;
  /** Looks for messages that are due. */
  readonly wake: () => void;
  /** Starts no further attempt, gives those that run `graceMs` to end, and gives back the others. */
  readonly stop: (graceMs: number) => Promise<void>;
};

export type SenderOptions = DeliverOptions & {
  readonly endpoint: string;
  /** Milliseconds for which a claimed message is this process's: longer than an attempt. */
  readonly leaseMs: number;
};

const MOST_AT_ONCE = 4;
// How late a message of a process that died is found, beyond its lease.
const POLL_MS = 5_000;

/** An endpoint that differs in anything is another one: it may want messages again. */
const toVersion = (settings: EndpointSettings): EndpointVersion => ({
  settings,
  version: hash('sha256', JSON.stringify(settings)),
});

/** The sender of an endpoint, which begins with its first `wake`. */
export const createEndpointSender = (first: EndpointSettings, options: SenderOptions): EndpointSender => {
  const { endpoint, store, observer, leaseMs } = options;
  const ending = new AbortController();
  const deliver = createDeliver(options, ending.signal);
  const running = new Set<Promise<void>>();
  let current = toVersion(first);
  let isStopped = false;
  let looking: Promise<void> | null = null;
  let isAskedAgain = false;
  let timer: NodeJS.Timeout | undefined;

  const drop = async (delivery: ClaimedDelivery): Promise<void> => {
    await store.remove(delivery);
    observer.attempted(toReport(delivery, 'disabled', 'the endpoint answered HTTP 410 before'));
  };
  const start = (delivery: ClaimedDelivery, disabled: string | null): void => {
    const handled = disabled === current.version ? drop(delivery) : deliver(delivery, current);
    const work = handled.then(undefined, (error: unknown) => observer.failed(endpoint, error));
    running.add(work);
    void work.then(() => {
      running.delete(work);
      wake();
    });
  };
  const take = async (): Promise<void> => {
    const free = MOST_AT_ONCE - running.size;
    if (free === 0) return;
    const claim = await store.claim(endpoint, free, leaseMs).then(undefined, (error: unknown): Claim => {
      observer.failed(endpoint, error);
      return NO_CLAIM;
    });
    if (isStopped) {
      await Promise.all(claim.deliveries.map((delivery) => store.reschedule(delivery, 0)));
      return;
    }
    observer.waiting(endpoint, claim.waiting);
    for (const delivery of claim.deliveries) start(delivery, claim.disabled);
    clearTimeout(timer);
    timer = setTimeout(wake, Math.max(1, Math.min(claim.nextMs ?? POLL_MS, POLL_MS)));
    timer.unref();
  };
  const look = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      await take();
      // A message that came while the store was asked may have been too late for its answer.
    } while (isAskedAgain && !isStopped);
    looking = null;
  };
  const wake = (): void => {
    if (isStopped) return;
    if (looking === null) looking = look();
    else isAskedAgain = true;
  };
  return {
    configure: (next) => {
      current = toVersion(next);
    },
    wake,
    stop: async (graceMs) => {
      isStopped = true;
      clearTimeout(timer);
      const late = setTimeout(() => ending.abort(), graceMs);
      await looking;
      await Promise.all(running);
      clearTimeout(late);
    },
  };
};
