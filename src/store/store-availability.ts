import { isNoRecord, type UpdateTimeout } from './record-store.ts';
import type { StoreObserver, StoreOperation } from './store-observer.ts';

/** The store is known to be slow or away, and was not asked. */
export class StoreAwayError extends Error {
  override readonly name = 'StoreAwayError';
}

/** No answer has come in time; what was asked may have been done. */
export class LateAnswerError extends Error {}

/** Hears of a store by itself, so that nobody has to ask in vain to learn it. */
export type StoreWatcher = {
  /** Its connection is gone. */
  readonly lost: () => void;
  /** It is connected, and has to be checked. */
  readonly connected: () => void;
  /** What it had to write failed. */
  readonly failed: (error: unknown) => void;
};

/** How an asker waits: as an update, or for what is only read. */
export type Urgency = UpdateTimeout | 'read';

type Options = {
  readonly observer: StoreObserver;
  readonly now: () => number;
  readonly watch: (watcher: StoreWatcher) => void;
  /** Writes to the store; rejects where it does not serve. null where it is not connected: `connected` is called when it is. */
  readonly check: () => Promise<unknown> | null;
};

// An outage costs one time-out a second and replica, not one a batch.
const CHECK_INTERVAL_MS = 1000;
const IN_TIME_MS = 50;

type State = 'up' | 'slow' | 'refusing' | 'down';

/**
 * Whether the store serves. All that ask it ask through here, so that one outage is noticed once.
 *
 * | state    | may ask                        | becomes                                                                       |
 * |----------|--------------------------------|-------------------------------------------------------------------------------|
 * | up       | everyone                       | slow: two short updates in a row are late. refusing: the server says that it  |
 * |          |                                | takes no writes. down: two long updates are late, a lost connection           |
 * | slow     | all but steps of sessions      | up: a write in time. refusing, down: as from up                               |
 * | refusing | who reads, and `always`        | up: a write in time. slow: a later one. down: as from up                      |
 * | down     | `always`                       | up: a write in time. slow: a later one. refusing: as from up                  |
 *
 * In all but up a check writes once a second: what is only read may be answered by a store that takes no writes. What is read,
 * and what Redis says of one command alone, says nothing of the store.
 */
export class StoreAvailability {
  readonly #options: Options;
  #state: State = 'up';
  #awaySince: string | null = null;
  /** When an answer was first missed after the last one that came. */
  readonly #lateSince: Record<'short' | 'long', number | null> = { short: null, long: null };
  readonly #listeners: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    options.watch({
      lost: () => this.#become('down'),
      connected: () => void this.#check(),
      failed: (error) => {
        options.observer.operationFailed('connect', error);
        this.#fall(error);
      },
    });
  }

  /** Whether it serves in time. */
  readonly isUp = (): boolean => this.#state === 'up';

  /** Calls the listener each time the store is back after it was slow or away. */
  readonly onRecovered = (listener: () => void): void => void this.#listeners.push(listener);

  /** Since when it has been slow or away, as an ISO time; null while it serves in time. */
  readonly awaySince = (): string | null => this.#awaySince;

  /** The store's answer, at once where it answers at once. Rejects where the store does, and with `StoreAwayError` unasked. */
  readonly ask = <Answer>(
    operation: StoreOperation,
    urgency: Urgency,
    ask: () => Answer | Promise<Answer>,
  ): Answer | Promise<Answer> => {
    if (!this.#mayAsk(operation, urgency)) return Promise.reject(AWAY);
    const startedAt = this.#options.now();
    const answer = ask();
    if (!(answer instanceof Promise)) return answer;
    return answer.then(
      (value) => {
        this.#succeed(operation, urgency, startedAt);
        return value;
      },
      (error: unknown) => {
        this.#fail(operation, urgency, error, startedAt);
        throw error;
      },
    );
  };

  #mayAsk(operation: StoreOperation, urgency: Urgency): boolean {
    if (this.#state === 'up' || urgency === 'always') return true;
    if (urgency === 'read') return this.#state !== 'down';
    // A round that has ended keeps its batch waiting.
    return this.#state === 'slow' && urgency !== 'short' && operation !== 'settle';
  }

  #succeed(operation: StoreOperation, urgency: Urgency, startedAt: number): void {
    const tookMs = this.#options.now() - startedAt;
    this.#options.observer.operationEnded(operation, tookMs);
    if (tookMs <= IN_TIME_MS) this.#lateSince.short = null;
    this.#lateSince.long = null;
    if (urgency !== 'read') this.#serve(tookMs);
  }

  #serve(tookMs: number): void {
    if (this.#state !== 'up') this.#become(tookMs <= IN_TIME_MS ? 'up' : 'slow');
  }

  #fail(operation: StoreOperation, urgency: Urgency, error: unknown, startedAt: number): void {
    this.#options.observer.operationFailed(operation, error);
    // A page of a long journal that is late says nothing of batches, and people who read must not take the store away.
    if (urgency === 'read' || isOfOneCommand(operation, error)) return;
    if (error instanceof LateAnswerError) this.#noteLate(urgency === 'short' ? 'short' : 'long', startedAt);
    else this.#fall(error);
  }

  #noteLate(waits: 'short' | 'long', startedAt: number): void {
    const since = this.#lateSince[waits];
    this.#lateSince[waits] ??= this.#options.now();
    // What was on its way with the first that was late says no more than that one.
    if (since === null || startedAt < since) return;
    if (waits === 'long') this.#become('down');
    else if (this.#state === 'up') this.#become('slow');
  }

  #fall(error: unknown): void {
    this.#become(isReply(error) ? 'refusing' : 'down');
  }

  #become(next: State): void {
    const { observer } = this.#options;
    const wasUp = this.#state === 'up';
    this.#state = next;
    if (next !== 'up') this.#checkLater();
    if (wasUp === (next === 'up')) return;
    this.#awaySince = next === 'up' ? null : new Date().toISOString();
    observer.availabilityChanged(next === 'up' ? 'up' : 'down');
    if (next === 'up') for (const listener of this.#listeners) listener();
  }

  #checkLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#state !== 'up') void this.#check();
    }, CHECK_INTERVAL_MS).unref();
  }

  async #check(): Promise<void> {
    const { observer, now, check } = this.#options;
    const startedAt = now();
    const checked = check();
    if (checked === null) return;
    try {
      await checked;
      this.#serve(now() - startedAt);
    } catch (error) {
      observer.operationFailed('connect', error);
      this.#fall(error);
    }
  }
}

// One for all: a flood of requests that are not let ask would make as many stacks.
const AWAY = new StoreAwayError('The store is unavailable.');

// What Redis says of itself. All else may be of the rates alone: a right to their script or their keys that its user lacks.
const OF_THE_SERVER = /^(?:BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOAUTH|NOREPLICAS|OOM|READONLY)/;

const isOfOneCommand = (operation: StoreOperation, error: unknown): boolean =>
  isNoRecord(error) || (operation === 'rate' && isReply(error) && !OF_THE_SERVER.test(error.message));

const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';
