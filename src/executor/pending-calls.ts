import * as z from 'zod';
import { EFFECTS } from '../contract/failure.ts';
import { Approval, type PendingCall } from '../contract/tool-result.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { RecordLease } from './idempotency-store.ts';
import type { Admission } from './session-store.ts';

/** How a batch is answered before its calls have ended. */
export type AsyncTerms = {
  /** How long its answer waits for the results, in milliseconds; null: not for background tools, a second for others. */
  readonly waitMs: number | null;
  /** The webhook endpoint that hears of the calls; null: none. */
  readonly notify: string | null;
  /** Resolves when nobody waits any more; left out: never. */
  readonly over?: Promise<void>;
};

/** What a pending call runs by, whichever process runs it. JSON: it is kept as its text. Times in Unix milliseconds. */
export const CallSpec = z.object({
  requestId: z.string(),
  requestKey: z.string(),
  /** Of its batch, or its own: with the place in it, it names the call in every try. */
  recordKey: z.string(),
  /** Left out: as `index`. */
  place: z.int().optional(),
  tenant: z.string(),
  key: z.string().nullable(),
  /** SHA-256 of the API key that it came with, 64 hex digits: it runs only while that key may. undefined: it came without one. */
  keyHash: z.string().optional(),
  caller: z.string(),
  callerId: z.string().nullable(),
  sessionKey: z.string().nullable(),
  index: z.int(),
  id: z.union([z.string(), z.number(), z.null()]),
  /** As it was asked for; `tool` is the tool's own. */
  name: z.string(),
  tool: z.string(),
  effects: z.enum(EFFECTS),
  background: z.enum(['never', 'optional', 'always']),
  /** JSON text. */
  arguments: z.string(),
  /** SHA-256 of tool and arguments, 64 hex digits. */
  fingerprint: z.string(),
  timeoutMs: z.number(),
  idempotencyKey: z.string().nullable(),
  /** With what the call settles in its session when it has ended; null without a session. */
  ticket: z.string().nullable(),
  /** `Grant.ticket` of what was reserved for it; null, or left out: nothing was. */
  grant: z.string().nullish(),
  /** What a person has to approve before it is queued; null, or left out: nothing. */
  approval: Approval.nullish(),
  /** Of the tool, for the budget that its result tells. */
  retries: z.number(),
  notify: z.string().nullable(),
  traceId: z.string().nullable(),
  acceptedAt: z.number(),
  /** Of one that waits for a person, when that person can no longer decide. */
  expiresAt: z.number(),
  /** How long it may take once a person has decided, in milliseconds; left out: it does not wait for one. */
  runMs: z.number().optional(),
});
export type CallSpec = Readonly<z.infer<typeof CallSpec>>;

/** What names a call in every try. */
export type CallPlace = { readonly recordKey: string; readonly place: number };

/** Where a pending call stands. `ended`: the JSON text of its result. */
export type PendingState =
  | { readonly kind: 'pending'; readonly pending: PendingCall }
  | { readonly kind: 'ended'; readonly result: string };

/** A call that was accepted, now or by an earlier batch. */
export type AcceptedCall = {
  readonly handle: string;
  /** The state now. */
  readonly state: PendingState;
  /**
   * Resolves with the result as soon as the call has ended, or its record is gone; with null where the store is away, or
   * `over` has resolved. Never rejects.
   */
  readonly ended: (waitMs: number, over?: Promise<void>) => Promise<PendingState | null>;
};

/**
 * Why no further call is pending: `session`, `key` and `service` have as many as they may. In bytes, `caller` keeps what is its
 * part of the memory for requests, `tenant` what is its part of the store, and `memory` is full. `store` is fuller than so
 * many per cent.
 */
export type PendingLimit = 'session' | 'key' | 'service' | 'caller' | 'tenant' | 'memory' | 'store';

export type Acceptance =
  /** `joined`: the same call of its session was accepted first, by a batch that ran beside this one. */
  | { readonly kind: 'accepted'; readonly call: AcceptedCall; readonly how: 'new' | 'joined' }
  | { readonly kind: 'full'; readonly of: PendingLimit; readonly limit: number }
  /** The store or the queue is away: nothing was accepted. */
  | { readonly kind: 'unavailable' };

/** Calls that outlive their request. Nothing here rejects. */
export type PendingCalls = {
  /** The pending call of this session with the same tool and arguments; null: none, or the store is away. */
  readonly find: (sessionKey: string, fingerprint: string) => Promise<AcceptedCall | null>;
  /**
   * Writes the call's record, tells `announce` its handle, then queues it: once that has resolved, where there is anything
   * to wait for, or after 250 ms. `unavailable` also where its record is not made within so many milliseconds.
   */
  readonly accept: (
    spec: CallSpec,
    announce: (handle: string) => Promise<void> | undefined,
    withinMs: number,
  ) => Promise<Acceptance>;
  /** The call that an earlier answer named by its handle; null: nobody knows of it, or the store is away. */
  readonly attach: (tenant: string, handle: string) => Promise<AcceptedCall | null>;
  /**
   * The call that an earlier try of the batch has accepted, queued again where that try may have died before; null: none was
   * accepted, or the store is away.
   */
  readonly reattach: (tenant: string, place: CallPlace) => Promise<AcceptedCall | null>;
  /** Whether `reattach` would find a call: nothing is queued. */
  readonly hasAccepted: (tenant: string, place: CallPlace) => Promise<boolean>;
};

/** A pending call that this process runs: what its batch of one call does differently. */
export type ResumedCall = {
  readonly spec: CallSpec;
  /** The call's record: a write is noted before it begins, and the result is committed there. */
  readonly record: RecordLease;
  /** How it ends without running, because of what happened to it before; null: it runs. */
  readonly outcome: CallOutcome | null;
  /** Calls back when it is to be cut off whatever it does; gives the way to unsubscribe. */
  readonly whenForced: (listener: () => void) => () => void;
  /** In its session; null without one. */
  readonly admission: Admission | null;
};

/** Accepts nothing: for testers, which run each call to its end. */
export const NO_PENDING_CALLS: PendingCalls = {
  find: async () => null,
  accept: async () => ({ kind: 'unavailable' }),
  attach: async () => null,
  reattach: async () => null,
  hasAccepted: async () => false,
};
