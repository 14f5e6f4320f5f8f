import type { StoreObserver, StoreOperation } from '../executor/store-observer.ts';
import type { RedisClient } from './redis-client.ts';

// One probe a second: an outage costs one time-out per second and replica, not one per batch.
const PROBE_INTERVAL_MS = 1000;

/** A store that may say by itself that it is lost or back, so that nobody has to ask in vain to learn it. */
export type WatchableStore = {
  readonly watch: (watcher: {
    /** Its connection is gone. */
    readonly lost: () => void;
    /** It is connected and serves. */
    readonly back: () => void;
    /** It is connected and does not serve. */
    readonly refused: (error: unknown) => void;
  }) => void;
  /** Asks whether it serves; rejects where it does not. null where it is not connected: it says by itself when it is. */
  readonly check: () => Promise<unknown> | null;
};

type Attempt<Answer> = { readonly kind: 'answered'; readonly answer: Answer } | { readonly kind: 'away' };

/** Whether the shared store serves; all that ask it ask through here, so that one outage is noticed once. */
export type StoreAvailability = {
  /** Whether it served the last time it was asked, and has not been lost since. */
  readonly isUp: () => boolean;
  /** Since when it has been away, as an ISO time; null while it serves. */
  readonly awaySince: () => string | null;
  /**
   * Asks the store, unless it is known to be away: then one asker a second is its probe. For steps that write, for a
   * store that answers them serves. A probe that was answered and has not written leaves its turn to the next asker.
   * Never rejects.
   */
  readonly attempt: <Answer>(
    operation: StoreOperation,
    ask: () => Answer | Promise<Answer>,
    hasWritten?: (answer: Answer) => boolean,
  ) => Promise<Attempt<Answer>>;
  /**
   * The same for what is no probe, and not asked at all while the store is away: a second step of what it has begun, or
   * one that a store may answer that is full or takes no writes.
   */
  readonly attemptWhileUp: <Answer>(
    operation: StoreOperation,
    ask: () => Answer | Promise<Answer>,
  ) => Promise<Attempt<Answer>>;
};

export const createStoreAvailability = (options: {
  readonly observer: StoreObserver;
  readonly now: () => number;
  /** Called each time the store is back after it was away. */
  readonly onRecovered: () => void;
  readonly store?: Partial<WatchableStore>;
}): StoreAvailability => {
  const { observer, now, onRecovered, store } = options;
  let downUntil = 0;
  let awaySince: string | null = null;
  // One that was refused when it connected is asked again each second, or a replica without batches would stay degraded
  // after one late answer. Until a batch has asked: what became of that says more than this question, which a store may
  // answer that is full or serves only a part. And it keeps no batch from asking.
  let again: NodeJS.Timeout | undefined;
  const stopAsking = (): void => {
    clearTimeout(again);
    again = undefined;
  };
  const lost = (): void => {
    downUntil = now() + PROBE_INTERVAL_MS;
    if (awaySince === null) observer.availabilityChanged('down');
    awaySince ??= new Date().toISOString();
  };
  const fell = (operation: StoreOperation, error: unknown): void => {
    observer.operationFailed(operation, error);
    lost();
  };
  const recovered = (): void => {
    downUntil = 0;
    stopAsking();
    if (awaySince === null) return;
    awaySince = null;
    onRecovered();
    observer.availabilityChanged('up');
  };
  const askAgain = (): void => {
    const seen = (next: () => void) => (again === undefined ? undefined : next());
    const stayedAway = (error: unknown): void => {
      observer.operationFailed('connect', error);
      seen(askAgain);
    };
    clearTimeout(again);
    again = setTimeout(() => void store?.check?.()?.then(() => seen(recovered), stayedAway), PROBE_INTERVAL_MS).unref();
  };
  const refused = (error: unknown): void => {
    fell('connect', error);
    askAgain();
  };
  store?.watch?.({ lost, back: recovered, refused });
  const ask = async <Answer>(
    operation: StoreOperation,
    asking: () => Answer | Promise<Answer>,
    answered: (answer: Answer) => void,
  ): Promise<Attempt<Answer>> => {
    const startedAt = now();
    try {
      const answer = await asking();
      observer.operationEnded(operation, now() - startedAt);
      answered(answer);
      return { kind: 'answered', answer };
    } catch (error) {
      // A page of a long journal that is late says nothing of batches, and people who read must not take the store away.
      if (operation === 'read') observer.operationFailed(operation, error);
      else {
        stopAsking();
        fell(operation, error);
      }
      return AWAY;
    }
  };
  return {
    isUp: () => awaySince === null,
    awaySince: () => awaySince,
    attempt: async (operation, asking, hasWritten = () => true) => {
      const startedAt = now();
      if (startedAt < downUntil) return AWAY;
      // While it is down this is the probe; those beside it need not wait for it.
      const isProbe = awaySince !== null;
      if (isProbe) downUntil = startedAt + PROBE_INTERVAL_MS;
      return ask(operation, asking, (answer) => {
        if (hasWritten(answer)) recovered();
        // Or askers that are never let write, and come first, would keep the others from finding out.
        else if (isProbe) downUntil = 0;
      });
    },
    // Those that were running when it went away: each would wait for a time-out of its own.
    attemptWhileUp: async (operation, asking) => (awaySince === null ? ask(operation, asking, () => undefined) : AWAY),
  };
};

const AWAY = { kind: 'away' } as const;

/** What became of a command: answered, refused with an error of Redis's own, or not asked or not answered. */
type CommandReply<Answer = unknown> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'away' };

/**
 * Sends one command, unless the store is known to be away. One that is not answered takes the store away for all that ask,
 * and an answered one that `writes` brings it back: a server that answers reads alone does not serve. One that is refused
 * does neither: it may be these commands alone that lack a right, or one key that is no hash. Never rejects.
 */
export const attemptCommand = async <Answer>(
  { attempt }: Pick<StoreAvailability, 'attempt'>,
  operation: 'rate' | 'page' | 'webhook',
  what: 'reads' | 'writes',
  command: () => Promise<Answer>,
): Promise<CommandReply<Answer>> => {
  const toAnswered = (answer: Answer): CommandReply<Answer> => ({ kind: 'answered', answer });
  const toRefused = (error: unknown): CommandReply<Answer> => {
    if (isReply(error)) return { kind: 'refused', error };
    throw error;
  };
  const attempted = await attempt(
    operation,
    () => command().then(toAnswered, toRefused),
    ({ kind }) => what === 'writes' && kind === 'answered',
  );
  return attempted.kind === 'answered' ? attempted.answer : attempted;
};

// As ioredis names what the server itself says. Redirections without an end are answers, too.
const isReply = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'ReplyError' || error.message.startsWith('Too many Cluster redirections'));

/** What rates are counted with. */
export type RateStore = {
  /** Sends one command, which writes. */
  readonly call: (command: string, ...parameters: string[]) => Promise<CommandReply>;
};

export const createRateStore = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt'>;
}): RateStore => ({
  call: (command, ...parameters) =>
    attemptCommand(options.availability, 'rate', 'writes', () => options.client.call(command, ...parameters)),
});
