import type { StoreObserver, StoreOperation } from '../executor/store-observer.ts';

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

export type Attempt<Answer> = { readonly kind: 'answered'; readonly answer: Answer } | { readonly kind: 'away' };

/** Whether the shared store serves; all that ask it ask through here, so that one outage is noticed once. */
export type StoreAvailability = {
  /** Whether it served the last time it was asked, and has not been lost since. */
  readonly isUp: () => boolean;
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
  /** Heard each time the store is back after it was away. */
  readonly onRecovered: () => void;
  readonly store?: Partial<WatchableStore>;
}): StoreAvailability => {
  const { observer, now } = options;
  let downUntil = 0;
  let up = true;
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
    if (up) observer.availabilityChanged('down');
    up = false;
  };
  const fell = (operation: StoreOperation, error: unknown): void => {
    observer.operationFailed(operation, error);
    lost();
  };
  const recovered = (): void => {
    downUntil = 0;
    stopAsking();
    if (up) return;
    up = true;
    options.onRecovered();
    observer.availabilityChanged('up');
  };
  const askAgain = (): void => {
    const seen = (next: () => void) => (again === undefined ? undefined : next());
    const stayedAway = (error: unknown): void => {
      observer.operationFailed('connect', error);
      seen(askAgain);
    };
    clearTimeout(again);
    again = setTimeout(() => void options.store?.check?.()?.then(() => seen(recovered), stayedAway), PROBE_INTERVAL_MS);
    again.unref();
  };
  const refused = (error: unknown): void => {
    fell('connect', error);
    askAgain();
  };
  options.store?.watch?.({ lost, back: recovered, refused });
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
    isUp: () => up,
    attempt: async (operation, asking, hasWritten = () => true) => {
      const startedAt = now();
      if (startedAt < downUntil) return AWAY;
      // While it is down this is the probe; those beside it need not wait for it.
      const isProbe = !up;
      if (isProbe) downUntil = startedAt + PROBE_INTERVAL_MS;
      return ask(operation, asking, (answer) => {
        if (hasWritten(answer)) recovered();
        // Or askers that are never let write, and come first, would keep the others from finding out.
        else if (isProbe) downUntil = 0;
      });
    },
    // Those that were running when it went away: each would wait for a time-out of its own.
    attemptWhileUp: async (operation, asking) => (up ? ask(operation, asking, () => undefined) : AWAY),
  };
};

const AWAY = { kind: 'away' } as const;
