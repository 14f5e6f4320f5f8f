import type { Tool } from '../tools/tool.ts';
import type { CallOutcome, FailureOutcome } from './call-outcome.ts';
import type { Cancellation } from './deadline.ts';
import type { RecordState, SettledPlace } from './idempotency-store.ts';

/** A write as it is looked for, in whichever process. Times in milliseconds. */
export type Write = {
  readonly effectId: string;
  readonly tool: Tool;
  /** Its arguments as they were parsed. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly tenant: string;
  /** Who of the tenant sent it; null: anonymous. */
  readonly caller: string | null;
  /** Between whom the slots of the service are shared: the tenant, or the address of whoever is anonymous. */
  readonly holder: string;
  readonly requestId: string;
  readonly batchId: string;
  readonly sessionKey: string | null;
  readonly index: number;
  readonly id: string | number | null;
  readonly name: string | null;
  /** The records that have its mark and its result; none, and no handle: nothing of it outlives its batch. */
  readonly places: readonly SettledPlace[];
  /** Of the pending call that it is. */
  readonly handle: string | null;
  /** `Admission.ticketOf` its tool; null without a session. */
  readonly ticket: string | null;
  /** `Grant.ticket` of what was reserved for it; null: nothing was. */
  readonly grant: string | null;
  /** The webhook endpoint that its batch has named. */
  readonly notify: string | null;
  /** How long its run may take. */
  readonly timeoutMs: number;
};

/** What is known of a write whose outcome is unknown. */
export type UnknownRun = {
  /** Without secrets. */
  readonly outcome: FailureOutcome;
  /**
   * `own`: it ran in this batch. `earlier`: what another one, or another worker, has left of it. `other`: it was to begin, and another
   * run of it was noted before; or a kept result that may be that of a pending call, which has another effect id. That is not looked for
   * unless it was noted under this one.
   */
  readonly run: 'own' | 'earlier' | 'other';
  /** The end of a handler that goes on; null where its process was killed, or it has ended. Never rejects. */
  readonly late: Promise<CallOutcome | null> | null;
  /** How long its handler had run when it was given up; 0 where that is not known. */
  readonly ranMs: number;
  /** Until when its caller waits. */
  readonly cancellation: Cancellation;
};

/** Finds out how writes ended of which nobody knows. Nothing here rejects. */
export type Reconciler = {
  /** Whether writes of this tool can be looked for. */
  readonly covers: (tool: Tool) => boolean;
  /**
   * Notes that a write begins that has a record, beside the mark in that record, so that any process can look for it. Only where
   * this says `held` may it begin.
   */
  readonly begin: (write: Write, mark: Promise<RecordState>) => Promise<RecordState>;
  /** A write that was noted, this very object, has ended so, or has not begun. */
  readonly ended: (write: Write, outcome: CallOutcome) => void;
  /**
   * Looks for a write as long as its caller waits; gives what it has come to, or what is known meanwhile. Where it ran in this batch it
   * is the object that was noted: a repeat of it is another one, for the run goes on that it does not know of.
   */
  readonly settle: (write: Write, unknown: UnknownRun) => Promise<CallOutcome>;
};

/** Where no write can be looked for. */
export const NO_RECONCILER: Reconciler = {
  covers: () => false,
  begin: (_write, mark) => mark,
  ended: () => undefined,
  settle: async (_write, { outcome }) => outcome,
};
