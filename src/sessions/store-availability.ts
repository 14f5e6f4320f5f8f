import type { StoreObserver, StoreOperation } from '../executor/store-observer.ts';
import { LateAnswerError } from '../store/command-timeout.ts';
import { KEY_PREFIX } from '../store/key-prefix.ts';
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

type State = 'up' | 'slow' | 'down';
type Patience = 'hurried' | 'patient';

type Ask<Answer> = () => Answer | Promise<Answer>;

/** Whether the shared store serves; all that ask it ask through here, so that one outage is noticed once. */
export type StoreAvailability = {
  /** Whether it serves in time. */
  readonly isUp: () => boolean;
  /** Whether what is patient may ask: it serves, be it slowly. */
  readonly isReachable: () => boolean;
  /** Since when it has been slow or away, as an ISO time; null while it serves in time. */
  readonly awaySince: () => string | null;
  /**
   * Asks the store, unless it is known to be away: then one asker a second is its probe. For steps that write, for a
   * store that answers them serves. A probe that was answered and has not written leaves its turn to the next asker.
   * Never rejects.
   */
  readonly attempt: <Answer>(
    operation: StoreOperation,
    ask: Ask<Answer>,
    hasWritten?: (answer: Answer) => boolean,
  ) => Promise<Attempt<Answer>>;
  /**
   * The same for what is no probe, and not asked at all while the store is away: a second step of what it has begun, or
   * one that a store may answer that is full or takes no writes.
   */
  readonly attemptWhileUp: <Answer>(operation: StoreOperation, ask: Ask<Answer>) => Promise<Attempt<Answer>>;
  /** The same for what writes and is asked in any state: what it would write is lost if it is not. */
  readonly attemptAlways: <Answer>(operation: StoreOperation, ask: Ask<Answer>) => Promise<Attempt<Answer>>;
};

type Options = {
  readonly observer: StoreObserver;
  readonly now: () => number;
  /** Called each time the store is back after it was slow or away. */
  readonly onRecovered: () => void;
  readonly store?: Partial<WatchableStore>;
};

export const createStoreAvailability = (options: Options): StoreAvailability => new Availability(options);

/**
 * | state | asks                                      | becomes                                                      |
 * |-------|-------------------------------------------|--------------------------------------------------------------|
 * | up    | everyone                                  | slow: two answers in a row later than 50 ms. down: two later |
 * |       |                                           | than a second, a lost connection, an error of a step         |
 * | slow  | what is patient; of the rest one a second | up: an answer in time. down: as from up                      |
 * | down  | one a second                              | up: an answer in time. slow: a later one                     |
 *
 * In slow and down a timer asks, too: a process may have nothing else to ask. Not where a step was answered with an error: a
 * question may be answered by a store that is full or serves only a part, and what becomes of a step says more.
 */
class Availability implements StoreAvailability {
  readonly #options: Options;
  #state: State = 'up';
  #awaySince: string | null = null;
  #nextProbeAt = 0;
  /** When an answer was first missed after the last one that came. */
  readonly #lateSince: Record<Patience, number | null> = { hurried: null, patient: null };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    options.store?.watch?.({
      lost: () => this.#fall(),
      back: () => this.#become('up'),
      refused: (error) => {
        options.observer.operationFailed('connect', error);
        this.#fall();
        this.#keepAsking();
      },
    });
  }

  readonly isUp = (): boolean => this.#state === 'up';

  readonly isReachable = (): boolean => this.#state !== 'down';

  readonly awaySince = (): string | null => this.#awaySince;

  readonly attempt: StoreAvailability['attempt'] = async (operation, ask, hasWritten = () => true) => {
    const { now } = this.#options;
    // Those beside the probe need not wait for it.
    const isProbe = !this.#mayAsk(operation);
    if (isProbe && now() < this.#nextProbeAt) return AWAY;
    if (isProbe) this.#nextProbeAt = now() + PROBE_INTERVAL_MS;
    return this.#ask(operation, ask, (answer, startedAt) => {
      if (hasWritten(answer)) this.#serve(toPatience(operation), startedAt);
      // Or askers that are never let write, and come first, would keep the others from finding out.
      else if (isProbe) this.#nextProbeAt = 0;
    });
  };

  // Those that were running when it went away: each would wait for a time-out of its own.
  readonly attemptWhileUp: StoreAvailability['attemptWhileUp'] = async (operation, ask) =>
    this.#mayAsk(operation) ? this.#ask(operation, ask, () => undefined) : AWAY;

  readonly attemptAlways: StoreAvailability['attemptAlways'] = (operation, ask) =>
    this.#ask(operation, ask, (_answer, startedAt) => this.#serve(toPatience(operation), startedAt));

  #mayAsk(operation: StoreOperation): boolean {
    return this.#state === 'up' || (this.#state === 'slow' && toPatience(operation) === 'patient');
  }

  async #ask<Answer>(
    operation: StoreOperation,
    ask: Ask<Answer>,
    answered: (answer: Answer, startedAt: number) => void,
  ): Promise<Attempt<Answer>> {
    const { observer, now } = this.#options;
    const startedAt = now();
    try {
      const answer = await ask();
      const tookMs = now() - startedAt;
      observer.operationEnded(operation, tookMs);
      if (tookMs <= IN_TIME_MS) this.#lateSince.hurried = null;
      this.#lateSince.patient = null;
      answered(answer, startedAt);
      return { kind: 'answered', answer };
    } catch (error) {
      observer.operationFailed(operation, error);
      // A page of a long journal that is late says nothing of batches, and people who read must not take the store away.
      if (operation !== 'read') this.#fail(toPatience(operation), error, startedAt);
      return AWAY;
    }
  }

  #serve(patience: Patience, startedAt: number): void {
    if (this.#state === 'up') return;
    const isInTime = patience === 'hurried' || this.#options.now() - startedAt <= IN_TIME_MS;
    this.#become(isInTime ? 'up' : 'slow');
  }

  #fail(patience: Patience, error: unknown, startedAt: number): void {
    if (error instanceof LateAnswerError) this.#noteLate(patience, startedAt);
    else this.#fall();
    if (isReply(error)) this.#stopAsking();
    else if (this.#state !== 'up') this.#keepAsking();
  }

  #noteLate(patience: Patience, startedAt: number): void {
    const { now } = this.#options;
    const since = this.#lateSince[patience];
    this.#lateSince[patience] ??= now();
    this.#nextProbeAt = now() + PROBE_INTERVAL_MS;
    // What was on its way with the first that was late says no more than that one.
    if (since === null || startedAt < since) return;
    if (patience === 'patient') this.#become('down');
    else if (this.#state === 'up') this.#become('slow');
  }

  #fall(): void {
    this.#nextProbeAt = this.#options.now() + PROBE_INTERVAL_MS;
    this.#become('down');
  }

  #become(next: State): void {
    const { observer, onRecovered } = this.#options;
    const wasUp = this.#state === 'up';
    this.#state = next;
    if (next === 'up') this.#stopAsking();
    if (wasUp === (next === 'up')) return;
    this.#awaySince = next === 'up' ? null : new Date().toISOString();
    if (next === 'up') onRecovered();
    observer.availabilityChanged(next === 'up' ? 'up' : 'down');
  }

  #stopAsking(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #keepAsking(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), PROBE_INTERVAL_MS).unref();
  }

  /** A step that was answered or refused meanwhile has stopped this: then more is known than the question tells. */
  async #check(): Promise<void> {
    const { observer, now, store } = this.#options;
    const timer = this.#timer;
    const startedAt = now();
    const asked = store?.check?.() ?? null;
    if (asked === null) return;
    try {
      await asked;
      if (this.#timer === timer) this.#serve('patient', startedAt);
    } catch (error) {
      observer.operationFailed('connect', error);
    }
    if (this.#timer === timer && this.#state !== 'up') this.#keepAsking();
  }
}

// What must be durable waits for a second, all else for 50 ms: as redis-client.ts does.
const PATIENT: ReadonlySet<StoreOperation> = new Set(['keyed', 'pending', 'webhook']);
const IN_TIME_MS = 50;

const toPatience = (operation: StoreOperation): Patience => (PATIENT.has(operation) ? 'patient' : 'hurried');

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
  readonly keyPrefix: string;
  /** Sends one command, which writes. */
  readonly call: (command: string, ...parameters: string[]) => Promise<CommandReply>;
};

export const createRateStore = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt'>;
}): RateStore => ({
  keyPrefix: `${KEY_PREFIX}:rate`,
  call: (command, ...parameters) =>
    attemptCommand(options.availability, 'rate', 'writes', () => options.client.call(command, ...parameters)),
});
