import type { ToolRegistry } from '../tools/registry.ts';
import type { CreateCallLog } from './call-context.ts';
import type { CallObserver, FailureLog } from './call-observer.ts';
import type { CallSlots } from './call-slots.ts';
import type { CircuitBreakers } from './circuit-breakers.ts';
import type { Clock } from './clock.ts';
import type { KeyedStore } from './keyed-store.ts';
import type { OpenWork } from './open-work.ts';
import type { Redactor } from './redactor.ts';
import type { RunHosted } from './run-hosted.ts';
import type { SessionStore } from './session-store.ts';
import type { TurnShare } from './turn-share.ts';

/** What the executor is given. Times in milliseconds. */
export type ExecutorSettings = Clock & {
  readonly registry: ToolRegistry;
  readonly sessions: SessionStore;
  /** Where batches without a session keep their budgets. */
  readonly requests: SessionStore;
  readonly keys: KeyedStore;
  readonly slots: CallSlots;
  readonly circuits: CircuitBreakers;
  /** Runs the calls of tools whose code lives in processes of its own. */
  readonly runHosted: RunHosted;
  readonly observer: CallObserver;
  readonly failureLog: FailureLog;
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
  readonly turns: TurnShare;
  readonly isDraining: () => boolean;
};
