import type { BudgetMode } from '../contract/tool-result.ts';

/** The bucket that all names share which no tool has: each invented name would get a fresh budget otherwise. */
export const UNKNOWN_TOOL = '_unknown';

/** One round as it asks to be let in. A tool stands once in `tools`, in the order of the batch. */
export type Round = {
  /** Opaque, one session of one tenant. */
  readonly sessionKey: string;
  /** Unique to this batch. */
  readonly batchId: string;
  /** Batches of a session with one round id are one round; null makes the batch a round of its own. */
  readonly roundId: string | null;
  /** Milliseconds after which the round's reservations lapse if it never settles: batch deadline + 5 s. */
  readonly leaseMs: number;
  readonly tools: readonly { readonly name: string; readonly retries: number }[];
};

/** What is left of a tool's retries in a session. All whole numbers, never below 0. */
export type Budget = {
  /** Failed rounds in a row. */
  readonly failures: number;
  readonly limit: number;
  /** Retries that failed. */
  readonly used: number;
  /** The smaller of what the tool and the session have left. */
  readonly remaining: number;
  readonly limitedBy: 'tool' | 'session';
  /** The last charged failure, one line of at most 200 characters; "" where there was none. */
  readonly lastError: string;
};

/** Why a round may not use a tool: its own retries are gone, the session's are, or its last one is still running. */
export type Denial = 'tool' | 'session' | 'running';

/** `free` = no failure is standing, `retry` = one retry is reserved. `budget` is null where nothing is counted. */
export type Permit =
  | { readonly decision: 'free'; readonly budget: Budget | null }
  | { readonly decision: 'retry'; readonly budget: Budget | null }
  | { readonly decision: 'denied'; readonly denial: Denial; readonly budget: Budget }
  | { readonly decision: 'unavailable' };

/** How the round went for one tool. Neither flag: terminal, refused or caused by the service. */
export type ToolOutcome = {
  readonly name: string;
  /** A charged failure happened. */
  readonly failed: boolean;
  readonly succeeded: boolean;
  /** A call was cut off while running: its reservation is left to its lease. */
  readonly interrupted: boolean;
  /** Text of the last charged failure. */
  readonly error: string;
};

/** A round that was let in, wholly or in part. It settles in the store that admitted it, or nowhere. */
export type Admission = {
  readonly mode: BudgetMode;
  readonly scope: 'session' | 'request';
  /** One for every tool of the round. */
  readonly permits: ReadonlyMap<string, Permit>;
  /** Ends the round's reservations, charges failures; gives the budgets after it. Rejects when the store fails. */
  readonly settle: (outcomes: readonly ToolOutcome[]) => Promise<ReadonlyMap<string, Budget>>;
};

/**
 * Retry budgets of sessions. `admit` reserves retries atomically, so that the limit holds under any concurrency.
 * Rejects when the store cannot answer; the fall-back wrapper turns that into a policy.
 */
export type SessionStore = {
  readonly admit: (round: Round) => Promise<Admission>;
};

/** The service's settings for all budgets. Times in milliseconds. */
export type BudgetSettings = {
  /** Retries failed or running, over all tools of a session that have not recovered. */
  readonly sessionRetries: number;
  /** How long a blocked tool stays blocked after its last failed round; 0 = for the session's life. */
  readonly cooldownMs: number;
  /** Sliding expiry of a session. */
  readonly ttlMs: number;
};
