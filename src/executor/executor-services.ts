import type { ToolRegistry } from '../tools/registry.ts';
import type { Audit } from './audit.ts';
import type { CreateCallLog } from './call-context.ts';
import type { CallObserver, FailureLog } from './call-observer.ts';
import type { CallSlots } from './call-slots.ts';
import type { CircuitBreakers } from './circuit-breakers.ts';
import type { Clock, RunHosted } from './deadline.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { PendingCalls } from './pending-calls.ts';
import type { Policies } from './policies.ts';
import type { Reconciler } from './reconciler.ts';
import type { Redactor } from './redactor.ts';
import type { SessionStore } from './session-store.ts';

/** What the executor is given. Times in milliseconds. */
export type ExecutorSettings = Clock & {
  readonly registry: ToolRegistry;
  readonly sessions: SessionStore;
  /** Where batches without a session keep their budgets. */
  readonly requests: SessionStore;
  readonly keys: IdempotencyStore;
  /** Calls that go on after their request. */
  readonly pending: PendingCalls;
  readonly reconciler: Reconciler;
  readonly policies: Policies;
  readonly slots: CallSlots;
  readonly circuits: CircuitBreakers;
  /** Runs the calls of tools whose code lives in processes of its own. */
  readonly runHosted: RunHosted;
  readonly observer: CallObserver;
  readonly failureLog: FailureLog;
  /** null: nothing is written down. */
  readonly audit: Audit | null;
  readonly createLog: CreateCallLog;
  readonly redactor: Redactor;
  /** Unix milliseconds, for people to read. */
  readonly time: () => number;
  readonly gracefulErrors: 'on' | 'off';
  readonly maxResultBytes: number;
  readonly sessionRetries: number;
  /** Calls that a session's journal keeps; 0 = none. */
  readonly journal: number;
  readonly maxBatchCalls: number;
  /** What the values of one batch come to at most, in bytes of JSON. */
  readonly maxAnswerBytes: number;
  /** How many handlers of one batch may run at once. */
  readonly batchConcurrency: number;
};

/** What all batches of one executor share. */
export type ExecutorServices = ExecutorSettings & {
  /** Batches and settlements that have not ended, so that draining can wait for them. */
  readonly open: OpenWork;
  readonly loopSlice: LoopSlice;
  readonly isDraining: () => boolean;
};

/** Counts what has begun and not ended, for who must wait until nothing is open. */
export class OpenWork {
  #open = 0;
  readonly #waiting: (() => void)[] = [];

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves as soon as nothing is open. */
  whenNone(): Promise<void> {
    return this.#open === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

// At 2 to 3 ms a megabyte, for text that JSON has to escape, some 10 ms.
const BYTES_A_SLICE = 4_194_304;
// Less is not counted and never waits: a batch of small values costs no immediate, and none behind the large ones.
const SMALL_BYTES = 16_384;

/** Spreads the work on large values over turns of the event loop, so that what is small is served in between. */
export class LoopSlice {
  readonly #waiting: (() => void)[] = [];
  #left = BYTES_A_SLICE;
  #isCounting = false;

  /** Does work on about so many bytes: at once where they are few or this turn has room, else in the order of asking. */
  runInSlice<Value>(bytes: number, work: () => Value): Value | Promise<Awaited<Value>> {
    if (bytes < SMALL_BYTES || (this.#left > 0 && this.#waiting.length === 0)) return work();
    this.#count();
    return new Promise((resolve) => {
      // Async only so that what it throws becomes a rejection; it runs at once.
      const run = async (): Promise<Awaited<Value>> => await work();
      this.#waiting.push(() => resolve(run()));
    });
  }

  /** Counts bytes that were worked on in this turn. */
  spend(bytes: number): void {
    if (bytes < SMALL_BYTES) return;
    this.#left -= bytes;
    this.#count();
  }

  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => {
      this.#isCounting = false;
      this.#left = BYTES_A_SLICE;
      while (this.#left > 0) {
        const next = this.#waiting.shift();
        if (next === undefined) return;
        next();
      }
      this.#count();
    });
  }
}
