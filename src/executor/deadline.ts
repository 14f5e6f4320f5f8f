import type { Issue } from '../contract/tool-result.ts';
import type { HostedTool, Tool, ToolContext } from '../tools/tool.ts';
import type { CallOutcome } from './call-outcome.ts';

/** The connection that waits for the answer. */
export type Client = {
  readonly isGone: () => boolean;
  /** Subscribes to its going away; gives the way to unsubscribe. */
  readonly whenGone: (listener: () => void) => () => void;
};

/** Calls back once after so many milliseconds; gives the way to call it off. */
export type StartTimer = (listener: () => void, ms: number) => () => void;

export const startNodeTimer: StartTimer = (listener, ms) => {
  const timer = setTimeout(listener, ms);
  return () => clearTimeout(timer);
};

/** What deadlines go by. */
export type Clock = {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Of the same clock; left out: of Node. */
  readonly startTimer?: StartTimer;
};

/** What may end a batch before its calls do. The first one counts. */
export type CancelCause = 'deadline' | 'client_gone' | 'shutdown';

/** Tells the calls of a batch that the batch is over. Moments are milliseconds of the executor's clock. */
export type Cancellation = {
  /** null while the batch goes on at the given moment. */
  readonly causeAt: (moment: number) => CancelCause | null;
  /** Calls back once, at the end; gives the way to unsubscribe. */
  readonly onCancel: (listener: (cause: CancelCause) => void) => () => void;
  /** Milliseconds left until the deadline. */
  readonly remainingAt: (moment: number) => number;
  readonly startTimer: StartTimer;
};

/** Calls a listener once whoever adds it has finished doing so; gives the way to call it off. */
const callSoon = (listener: (cause: CancelCause) => void, cause: CancelCause): (() => void) => {
  let isWanted = true;
  queueMicrotask(() => {
    if (isWanted) listener(cause);
  });
  return () => {
    isWanted = false;
  };
};

/** Timer and subscription start with the first listener: a batch of synchronous handlers never needs them. */
export class BatchCancellation implements Cancellation {
  readonly startTimer: StartTimer;
  readonly #client: Client;
  readonly #clock: Clock;
  /** The deadline, a moment of the clock. */
  readonly endsAt: number;
  #listeners: Set<(cause: CancelCause) => void> | undefined;
  #cause: CancelCause | null = null;
  #stopTimer: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(endsAt: number, client: Client, clock: Clock) {
    this.startTimer = clock.startTimer ?? startNodeTimer;
    this.#client = client;
    this.#clock = clock;
    this.endsAt = endsAt;
  }

  remainingAt(moment: number): number {
    return Math.max(0, this.endsAt - moment);
  }

  causeAt(moment: number): CancelCause | null {
    if (this.#cause === null && this.#client.isGone()) this.cancel('client_gone');
    if (this.#cause === null && moment >= this.endsAt) this.cancel('deadline');
    return this.#cause;
  }

  onCancel(listener: (cause: CancelCause) => void): () => void {
    if (this.#stopTimer === undefined) this.#listen();
    // The client may have gone before anybody listened.
    if (this.#cause !== null) return callSoon(listener, this.#cause);
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => void this.#listeners?.delete(listener);
  }

  cancel(cause: CancelCause): void {
    if (this.#cause !== null) return;
    this.#cause = cause;
    this.#stopTimer?.();
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener(cause);
  }

  /** The batch is answered: no timer and no listener is left behind. */
  close(): void {
    this.#stopTimer?.();
    this.#unsubscribe?.();
    this.#listeners = undefined;
  }

  #listen(): void {
    this.#stopTimer = this.startTimer(() => this.cancel('deadline'), Math.ceil(this.remainingAt(this.#clock.now())));
    this.#unsubscribe = this.#client.whenGone(() => this.cancel('client_gone'));
  }
}

/** The deadline is `deadlineMs` after `from`, a moment of the clock. */
export const createCancellation = (
  deadlineMs: number,
  client: Client,
  clock: Clock,
  from: number = clock.now(),
): BatchCancellation => new BatchCancellation(from + deadlineMs, client, clock);

/** How running a handler ended, as a value. The first cause wins. */
export type RunOutcome =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly thrown: unknown }
  | { readonly kind: 'invalid_arguments'; readonly issues: readonly Issue[] }
  | { readonly kind: 'invalid_output'; readonly issues: readonly Issue[] }
  /** Another process ran it and has said what came of it, or its death says so. */
  | { readonly kind: 'ended'; readonly outcome: CallOutcome }
  | { readonly kind: 'timed_out'; readonly limitMs: number; readonly late: Promise<RunOutcome | null> }
  | { readonly kind: 'cut_off'; readonly late: Promise<RunOutcome | null> };

export type RunTerms = {
  /** What the handler gets, and the way to tell it through its signal that nobody waits any longer. */
  readonly context: ToolContext & {
    readonly abort: (reason: Error) => void;
    /** Whether anybody watches what the handler shows. */
    readonly showsParts: boolean;
  };
  readonly timeoutMs: number;
  readonly cancellation: Cancellation;
};

/**
 * The outcome of `work`, or of its time, or of its batch: whichever comes first. `work` gives null where there is nothing
 * to say any more, because it was stopped after its outcome had been told.
 */
export const raceDeadline = (
  work: Promise<RunOutcome | null>,
  tool: Pick<Tool, 'effects'>,
  terms: Omit<RunTerms, 'context'> & { readonly context: Pick<RunTerms['context'], 'abort'> },
): Promise<RunOutcome> =>
  new Promise((resolve) => {
    const settle = (outcome: RunOutcome): void => {
      stopTimer();
      unsubscribe();
      resolve(outcome);
    };
    const timeOut = (): void => {
      settle({ kind: 'timed_out', limitMs: terms.timeoutMs, late: work });
      terms.context.abort(new DOMException('The deadline of this call passed.', 'TimeoutError'));
    };
    const unsubscribe = terms.cancellation.onCancel((cause) => {
      if (cause === 'deadline') return timeOut();
      // A write that runs is let finish: cutting it off would only hide what it did (semantics, section 5).
      if (cause === 'client_gone' && tool.effects === 'write') return undefined;
      settle({ kind: 'cut_off', late: work });
      return terms.context.abort(new DOMException('The caller no longer waits for this call.', 'AbortError'));
    });
    const stopTimer = terms.cancellation.startTimer(timeOut, terms.timeoutMs);
    work.then(
      (outcome) => outcome === null || settle(outcome),
      (thrown: unknown) => settle({ kind: 'threw', thrown }),
    );
  });

export type HostedTerms = RunTerms & {
  /** Whether an exception that the tool did not classify is a result like others (`on`) or fatal. */
  readonly graceful: 'on' | 'off';
  readonly purpose?: Purpose;
};

/**
 * Why a tool's code is called. `check`: its arguments are checked and the handler does not run; a success says that they are valid.
 * `approval`: its `approval` says whether a person has to approve the call; its value is `ask` or `allow`. `preview`: its `preview`
 * tells what a run would do. A moment in Unix milliseconds: its `reconcile` looks whether a run that began then took effect; its value
 * is a `Finding`. Left out: `run`.
 */
export type Purpose = 'run' | 'check' | 'approval' | 'preview' | { readonly startedAt: number };

/** Checks the arguments and runs the handler in a process of its own, under the deadline. Never rejects. */
export type RunHosted = (
  tool: HostedTool,
  input: Readonly<Record<string, unknown>>,
  terms: HostedTerms,
) => Promise<RunOutcome>;
