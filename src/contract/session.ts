import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, FAULTS, OUTCOMES } from './failure.ts';
import { BUDGET_MODES, PENDING_STATES } from './tool-result.ts';

const MAX_SESSION_ID = 256;

/** 1 to 256 characters, whatever they are. Counted as Unicode does: an emoji is one, as JSON Schema's `maxLength` has it. */
export const SessionId = z
  .string()
  .min(1)
  .refine(
    // Without counting the characters of a megabyte: none takes more than two places of a string.
    (id) => id.length <= MAX_SESSION_ID || (id.length <= 2 * MAX_SESSION_ID && [...id].length <= MAX_SESSION_ID),
    `must be 1 to ${MAX_SESSION_ID} characters`,
  )
  // In Redis all halves of characters are the same bytes, and sessions that end in different ones were one session.
  .refine((id) => id.isWellFormed(), 'must be valid Unicode: it contains half a character (a lone surrogate)')
  .meta({ maxLength: MAX_SESSION_ID });

/** What came of a handler that went on after its call had been answered. */
export const LateResult = z
  .object({
    time: z.iso.datetime().describe('When the handler really ended.'),
    outcome: z.enum(OUTCOMES),
    executed: z.enum(EXECUTED),
    code: z.enum(FAILURE_CODES).nullable(),
    message: z.string(),
  })
  .meta({ id: 'LateResult' });
export type LateResult = Readonly<z.infer<typeof LateResult>>;

/** One call of a session, as its journal keeps it and reducers see it: successes and failures alike. */
export const JournalEntry = z
  .object({
    step: z.int().nonnegative().describe("The session's round, from 1."),
    time: z.iso.datetime().describe('When its batch was answered.'),
    request_id: z.string(),
    index: z.int().nonnegative(),
    id: z.union([z.string(), z.number(), z.null()]).describe("The caller's id of the call."),
    tool: z.string().nullable().describe('A registered tool name, or `_unknown`; null if the call has no name.'),
    name: z.string().nullable().describe('The requested name, at most 64 characters.'),
    fingerprint: z.string().nullable().describe('SHA-256 of tool and canonical arguments, in hex.'),
    arguments: z.string().describe('The beginning of the arguments, redacted.'),
    success: z.boolean(),
    outcome: z.enum(OUTCOMES),
    executed: z.enum(EXECUTED),
    code: z.enum(FAILURE_CODES).nullable(),
    fault: z.enum(FAULTS).nullable(),
    message: z.string(),
    effect_id: z
      .string()
      .optional()
      .describe('Only of a write that ran or may have: what its effect is known by to its tool.'),
    duration_ms: z.number().nonnegative(),
    replayed: z.literal(true).optional(),
    retries_left: z.int().nonnegative().nullable().describe('Retries left for this tool after the round.'),
    repeats: z
      .int()
      .min(2)
      .optional()
      .describe('Only where equal calls were refused alike, one soon after the other: how many; this is the last one.'),
    late: LateResult.optional().describe('The outcome after the call was answered.'),
  })
  .meta({ id: 'JournalEntry' });
export type JournalEntry = Readonly<z.infer<typeof JournalEntry>>;

/** How often in a row a tool's most repeated call of its last round failed, and gave the same answer. */
export const StreakView = z.object({ failed: z.int().nonnegative(), same_answer: z.int().nonnegative() });

/** One tool of a session that has a budget, a streak or a count. */
export const SessionTool = z
  .object({
    name: z.string().describe('`_unknown` covers all names that no tool has.'),
    failing: z.boolean().describe('The last counted round failed.'),
    failures: z.int().nonnegative().describe('Failed rounds in a row.'),
    used: z.int().nonnegative().describe('Retries that failed.'),
    running: z.int().nonnegative().describe('Retries running now.'),
    limit: z.int().nonnegative().describe('Its retry limit; the number used if the tool no longer exists.'),
    exhausted: z.boolean().describe('Blocked now: a call would be refused with `retry_budget_exhausted`.'),
    last_error: z.string().describe('The last charged failure, one line; "" if there is none.'),
    streak: StreakView.describe(
      'How often in a row its most repeated call failed, and how often it returned the same answer.',
    ),
    calls: z.int().nonnegative().nullable().describe('Counted only if the tool limits its calls per session.'),
    max_calls: z.int().nonnegative().nullable(),
  })
  .meta({ id: 'SessionTool' });
export type SessionTool = Readonly<z.infer<typeof SessionTool>>;

/** A rule of the configuration that counts by session. Numbers are decimal texts: sums are exact. */
export const SessionRule = z
  .object({
    name: z.string(),
    used: z.string().describe('What was spent: of calls that took effect.'),
    reserved: z.string().describe('For calls that run, wait, or of which nobody knows whether they took effect.'),
    max: z.string(),
    until: z.iso
      .datetime()
      .nullable()
      .describe('When some of what was used leaves the window; null: not before the end.'),
  })
  .meta({ id: 'SessionRule' });
export type SessionRule = Readonly<z.infer<typeof SessionRule>>;

/** GET /sessions/{id}. Empty, and not an error, for a session never seen. */
export const SessionView = z
  .object({
    session: z.object({
      mode: z
        .enum(BUDGET_MODES)
        .describe('Where the session is stored; `local` = in this replica, because the store is unavailable.'),
      since: z.iso
        .datetime()
        .optional()
        .describe('Only with mode `local`: since when this replica has counted. The session itself is in the store.'),
      rounds: z.int().nonnegative(),
      max_rounds: z.int().nonnegative().nullable(),
      calls: z.int().nonnegative().describe('Calls that ran, or may have run.'),
      max_calls: z.int().nonnegative().nullable(),
      retries_used: z.int().nonnegative().describe('Over all tools: failed, running, or lost when a replica died.'),
      retries_limit: z.int().nonnegative(),
    }),
    tools: z.array(SessionTool).describe('By name.'),
    slices: z.record(z.string(), z.unknown()).describe('The result of each reducer over `calls`, by reducer name.'),
    slice_errors: z
      .record(z.string(), z.string())
      .optional()
      .describe('Only if a reducer failed: why its slice is missing, by reducer name.'),
    rules: z
      .array(SessionRule)
      .optional()
      .describe('Only if rules count by session for tools that the caller may use, and the store answers.'),
    pending: z
      .array(
        z.object({
          call: z.string(),
          tool: z.string(),
          request_id: z.string(),
          index: z.int().nonnegative(),
          state: z.enum(PENDING_STATES),
          since: z.iso.datetime(),
          expires_at: z.iso.datetime(),
        }),
      )
      .optional()
      .describe('Only if calls of the session are pending: accepted and not ended, oldest first.'),
    calls: z.array(JournalEntry).describe('The last SESSION_JOURNAL calls, oldest first.'),
    truncated: z
      .literal(true)
      .optional()
      .describe('Only if `calls` is incomplete: calls were evicted because the store needed memory.'),
  })
  .meta({ id: 'SessionView' });
export type SessionView = Readonly<z.infer<typeof SessionView>>;
