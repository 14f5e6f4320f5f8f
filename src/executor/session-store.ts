import type { Effects } from '../contract/failure.ts';
import type { BudgetMode } from '../contract/tool-result.ts';

/** The bucket that all names share which no tool has: each invented name would get a fresh budget otherwise. */
export const UNKNOWN_TOOL = '_unknown';

/** A tool as a round asks for it. */
export type RequestedTool = {
  readonly name: string;
  readonly retries: number;
  /** Calls of it that may run in one session; null = as many as come. */
  readonly maxCalls: number | null;
  readonly effects: Effects;
  /** The same call with the same answer is how it is meant to be used. */
  readonly polling: boolean;
};

/** A call as a round asks for it, copies left out. Hashes have 53 bits and are the same in every process. */
export type RequestedCall = {
  /** One of the round's tools. */
  readonly tool: string;
  /** Whether it may run: limits do not count what names no tool, or has arguments that cannot be read. */
  readonly counts: boolean;
  /** Of its tool and arguments, whatever the order of members; null where the loop guard does not look. Computed when it is read. */
  readonly callHash: number | null;
};

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
  readonly tools: readonly RequestedTool[];
  /** In the order of the batch. Empty where nothing counts calls: without a session. */
  readonly calls: readonly RequestedCall[];
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

/**
 * `free` = no failure is standing, `retry` = one retry is reserved, `idle` = a failure is standing, and limits and
 * loop guard left no call to run: nothing is reserved. `budget` is null where nothing is counted.
 */
export type Permit =
  | { readonly decision: 'free'; readonly budget: Budget | null }
  | { readonly decision: 'retry'; readonly budget: Budget | null }
  | { readonly decision: 'idle'; readonly budget: Budget }
  | { readonly decision: 'denied'; readonly denial: Denial; readonly budget: Budget }
  | { readonly decision: 'unavailable' };

/** How often in a row this very call failed for a reason the model owns, and gave this answer. */
export type Repeats = {
  readonly failed: number;
  readonly same: number;
  /** The hash of the last answer; "" where the last time gave none. */
  readonly answer: number | '';
};

/** What counts calls: all of the session, its rounds, or those of one tool in it. */
export type CallLimit = 'session_calls' | 'session_rounds' | 'tool_calls';

/** Whether one call may run, as far as limits and loop guard go. A denied tool's calls are not looked at: `run`. */
export type CallVerdict =
  | { readonly kind: 'run'; readonly repeats: Repeats | null }
  /** `times`: how often in a row it has been made, this time included. */
  | { readonly kind: 'loop'; readonly cause: 'failed' | 'same_answer'; readonly times: number }
  | { readonly kind: 'limit'; readonly of: CallLimit; readonly limit: number };

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
  /** A round was charged with a failure that, as is known now, was none. Left out: it was not. */
  readonly refunds?: true;
};

/**
 * How one call ended, as the loop guard sees it: it `failed` for a reason the model owns, gave an `answer`, was
 * `looped` (the guard refused it), ended in some `other` way, which ends its streaks, or did `not_run` for another
 * reason, which leaves them.
 */
export type CallEnd = 'failed' | 'answered' | 'looped' | 'other' | 'not_run';

/** One of the round's calls, settled. */
export type SettledCall = RequestedCall & {
  readonly callEnd: CallEnd;
  /** Of the JSON text of its value; null unless `answered`. Computed when it is read. */
  readonly resultHash: number | null;
  /** It ran or may have: it counts against the limits. */
  readonly executed: boolean;
};

/** A call for the journal. */
export type JournalLine = {
  /** Whose retries left are entered; null = nobody's. */
  readonly tool: string | null;
  /** A JSON object's text, to which the store adds `retries_left`: what the tool has left after the round, or null. */
  readonly json: string;
};

/** The journal's lines of one round. */
export type RoundJournal = {
  /** How many; at least 1. */
  readonly lines: number;
  /** How many lines at its end are of refused calls. */
  readonly refused: number;
  /** The lines, in the order of the batch: rendered and redacted each time. */
  readonly render: () => readonly JournalLine[];
  /**
   * The round as one text without line breaks, of which `UnpackRound` makes the lines later and elsewhere; null where they have to
   * be rendered now. Holds nothing that looks like a secret.
   */
  readonly pack: () => string | null;
};

/** The lines of a packed round, rendered and redacted; none where the text is not one. */
export type UnpackRound = (packed: string) => readonly JournalLine[];

/** What came of a round. */
export type RoundReport = {
  readonly outcomes: readonly ToolOutcome[];
  /** Those of `Round.calls`, in their order. */
  readonly calls: readonly SettledCall[];
  /** Of every call of the batch, admitted or not; null where no journal is kept or the batch has no lines. */
  readonly journal: RoundJournal | null;
};

/** The round of a call that outlives its batch. */
export type LateRound = {
  readonly sessionKey: string;
  /** Unique: the handle of the call. */
  readonly batchId: string;
  readonly tool: RequestedTool;
  /** As `Admission.ticketOf` gave it. */
  readonly ticket: string;
};

/** A round that was let in, wholly or in part. It settles in the store that admitted it, or nowhere. */
export type Admission = {
  readonly mode: BudgetMode;
  readonly scope: 'session' | 'request';
  /** The number of this round in its session, from 1; 0 without a session. */
  readonly step: number;
  /** One for every tool of the round. */
  readonly permits: ReadonlyMap<string, Permit>;
  /** In the order of `Round.calls`; empty where each may run and none has a streak. */
  readonly verdicts: readonly CallVerdict[];
  /**
   * Ends the round's reservations, charges failures, counts streaks, gives back calls that did not run, writes the
   * journal; gives the budgets after it. The embedded stores answer at once. Never rejects: a store that fails may have applied it or
   * not, and the budgets are then the likeliest.
   */
  readonly settle: (report: RoundReport) => ReadonlyMap<string, Budget> | Promise<ReadonlyMap<string, Budget>>;
  /**
   * What a call of this tool, that goes on after its batch, settles with by `SessionStore.resume`: opaque. The batch itself
   * settles it as neither failed nor succeeded, and its retry comes back.
   */
  readonly ticketOf: (tool: string) => string;
  /** Adds to the journal what came of a call after its answer: a JSON object's text. Best effort, never rejects. */
  readonly addLate: (json: string) => Promise<void>;
};

/** What would be said of a round. */
export type RoundForecast = Pick<Admission, 'mode' | 'scope' | 'step' | 'permits' | 'verdicts'>;

/** What a session remembers of a tool. */
export type ToolRecord = {
  readonly name: string;
  readonly failures: number;
  readonly used: number;
  /** Retries that run now. */
  readonly open: number;
  /** Milliseconds since its last failed round; null where none is standing. */
  readonly failedAgoMs: number | null;
  readonly lastError: string;
  /** Calls counted against `maxCalls`. */
  readonly calls: number;
  /** The highest of its last round's calls. */
  readonly streak: { readonly failed: number; readonly same: number };
};

/** All that is kept of a session; empty for one never seen. */
export type SessionRecord = {
  readonly mode: BudgetMode;
  /** Of `local`: since when this process has counted, as an ISO time. */
  readonly since?: string;
  readonly rounds: number;
  readonly calls: number;
  /** Retries used, running or lost. */
  readonly spent: number;
  /** By name. */
  readonly tools: readonly ToolRecord[];
  /** JSON texts, oldest first: the lines that settling wrote, and those of late results. */
  readonly journal: readonly string[];
  /** Lines of the journal were dropped, or not kept, because the store needed the room. */
  readonly truncated?: true;
};

/** The store is away: nothing was read, ended or reset. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/**
 * Sessions: retry budgets, streaks, limits and the journal. `admit` reserves atomically, so that every limit holds
 * under any concurrency. All of these reject when the store cannot answer; the fall-back wrapper makes a policy of it.
 */
export type SessionStore = {
  /** The embedded stores answer at once. */
  readonly admit: (round: Round) => Admission | Promise<Admission>;
  /** What `admit` would say of the round now: it is not let in, and nothing changes, not even when the session ends. */
  readonly forecast: (round: Round) => Promise<RoundForecast>;
  /**
   * The round of one call that was let in with its batch and has ended since: settling charges a failure as one more failed
   * round, and a success clears the tool unless another round has failed since it was let in.
   */
  readonly resume: (late: LateRound) => Admission;
  readonly read: (sessionKey: string) => Promise<SessionRecord>;
  /** Forgets the session. What still runs in it settles nowhere. */
  readonly end: (sessionKey: string) => Promise<void>;
  /** Makes one tool fresh, or all and the session's lost retries with them (null): budget and failure streaks. */
  readonly reset: (sessionKey: string, tool: string | null) => Promise<void>;
};

/** The service's settings for all sessions. Times in milliseconds. */
export type SessionSettings = {
  /** Retries failed or running, over all tools of a session that have not recovered. */
  readonly sessionRetries: number;
  /** How long a blocked tool stays blocked after its last failed round; 0 = for the session's life. */
  readonly cooldownMs: number;
  /** Sliding expiry of a session. */
  readonly ttlMs: number;
  /** Calls that may run in a session; 0 = as many as come. */
  readonly maxCalls: number;
  /** Rounds of a session; 0 = as many as come. */
  readonly maxRounds: number;
  /** Calls a session's journal keeps; 0 = none. */
  readonly journal: number;
};

/**
 * Sessions that ended as sessions of a transport: whoever goes on naming one is told so, and opens another. Kept as long as
 * a session would be.
 */
export type EndedSessions = {
  /** Best effort: an end that could not be kept is forgotten. Never rejects. */
  readonly add: (sessionKey: string) => void | Promise<void>;
  /** The embedded store answers at once. False where the store cannot answer. Never rejects. */
  readonly has: (sessionKey: string) => boolean | Promise<boolean>;
};
