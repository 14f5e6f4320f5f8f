import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from './failure.ts';

/** One thing that is wrong with the arguments. `path` is dotted, `""` for the whole. */
export const Issue = z
  .object({ path: z.string(), expected: z.string(), received: z.string(), message: z.string() })
  .meta({ id: 'Issue' });
export type Issue = Readonly<z.infer<typeof Issue>>;

export const Warning = z.object({ code: z.string(), message: z.string() }).meta({ id: 'Warning' });
export type Warning = Readonly<z.infer<typeof Warning>>;

/** Where a budget was kept: shared through Redis, in a file, in this process by design, or in this process because those are down. */
export const BUDGET_MODES = ['redis', 'sqlite', 'memory', 'local'] as const;
export type BudgetMode = (typeof BUDGET_MODES)[number];

export const RetryState = z
  .object({
    allowed: z
      .boolean()
      .describe(
        'True: another call of the tool may succeed and would run. False: the outcome is not `retry`, or no retries are left; a further call is answered `retry_budget_exhausted`.',
      ),
    limit: z.int().nonnegative(),
    used: z.int().nonnegative(),
    remaining: z.int().nonnegative().describe('The smaller of the retries left to the tool and to the session.'),
    limited_by: z.enum(['tool', 'session']),
    scope: z.enum(['session', 'request']),
    mode: z.enum(BUDGET_MODES),
  })
  .meta({ id: 'RetryState' });
export type RetryState = Readonly<z.infer<typeof RetryState>>;

export const Approval = z
  .object({
    id: z.string(),
    digest: z
      .string()
      .describe('`sha256:` and 64 hex digits over tool and arguments: what is approved, and nothing else.'),
    summary: z.string().describe('For people: what would run.'),
    expires_at: z.iso.datetime().describe('Until then it can be decided.'),
    url: z.string().nullable().describe('Where people decide, as the configuration file says; null: it does not say.'),
  })
  .meta({ id: 'Approval' });
export type Approval = Readonly<z.infer<typeof Approval>>;

export const FailureDetail = z
  .object({
    code: z.enum(FAILURE_CODES),
    type: z.string().describe("The exception's type name, or the code's own."),
    hint: z
      .string()
      .nullable()
      .describe("What to do differently, in the tool's words; also part of `message`. Null if no retries are left."),
    issues: z.array(Issue),
    retry_after_ms: z.number().nonnegative().nullable(),
    fatal: z.boolean().describe('True tells the runtime to abort its run.'),
    reference: z.string().describe('The log has the full exception under this id.'),
    effect_id: z
      .string()
      .optional()
      .describe('Only if `executed` is `maybe`: what the effect of the call, if it has one, is known by to its tool.'),
    rule: z.string().optional().describe('Only of `rule_refused`: the name of the rule.'),
    approval: Approval.optional().describe('Only of `approval_required`: what a person has to approve.'),
  })
  .meta({ id: 'FailureDetail' });
export type FailureDetail = z.infer<typeof FailureDetail>;

export const Reconciled = z
  .object({
    by: z.enum(['tool', 'run', 'person']).describe('`run`: the run itself ended after its answer.'),
    attempts: z.int().nonnegative().describe('How often was looked.'),
    after_ms: z.number().nonnegative().describe('From the end of the run, or from when it was taken for dead.'),
  })
  .meta({ id: 'Reconciled' });

const everyResult = {
  index: z.int().nonnegative(),
  id: z.union([z.string(), z.number(), z.null()]),
  name: z.string().nullable(),
  executed: z.enum(EXECUTED),
  value: z.unknown(),
  message: z.string(),
  duration_ms: z.number().nonnegative(),
  reconciled: Reconciled.optional().describe(
    'Only if it was unknown how the write ended, and was found out: a success, or a failure that did not take effect.',
  ),
  arguments_edited: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'Only if a person has changed the arguments before approving the call: those in their place, sensitive ones hidden.',
    ),
  empty: z.literal(true).optional(),
  replayed: z.literal(true).optional(),
  truncated: z.literal(true).optional(),
  warnings: z.array(Warning).min(1).optional(),
};

/** A call that did what it was to do. */
export const ToolSuccess = z
  .object({
    ...everyResult,
    success: z.literal(true),
    outcome: z.literal('success'),
    error: z.null(),
    retry: z.null(),
  })
  .meta({ id: 'ToolSuccess' });
export type ToolSuccess = z.infer<typeof ToolSuccess>;

/** A call that did not. */
export const ToolFailure = z
  .object({
    ...everyResult,
    success: z.literal(false),
    outcome: z.enum(OUTCOMES).exclude(['success', 'pending']),
    error: FailureDetail,
    retry: RetryState.nullable(),
  })
  .meta({ id: 'ToolFailure' });
export type ToolFailure = z.infer<typeof ToolFailure>;

/** What a call waits for that has not ended. */
export const PENDING_STATES = ['queued', 'waiting_for_approval', 'running'] as const;
export type PendingState = (typeof PENDING_STATES)[number];

export const PendingCall = z
  .object({
    call: z.string().describe('The handle of the call. It grants nothing: every request is authorised.'),
    state: z.enum(PENDING_STATES).describe('`queued`, `waiting_for_approval`: it has not started.'),
    since: z.iso.datetime().describe('When the call was accepted.'),
    expires_at: z.iso.datetime().describe('At this time a call that has not ended ends as `timeout`.'),
    poll_after_ms: z.int().nonnegative(),
    mode: z
      .enum(['memory', 'sqlite'])
      .optional()
      .describe(
        'Only without Redis. `memory`: the call and its result are lost when this process ends. `sqlite`: they are in a file, and the next process goes on with them.',
      ),
    progress: z.object({ done: z.number(), total: z.number().nullable(), message: z.string().nullable() }).nullable(),
    approval: Approval.nullable().describe('Only while it waits for a person: what has to be approved.'),
  })
  .meta({ id: 'PendingCall' });
export type PendingCall = Readonly<z.infer<typeof PendingCall>>;

/** A call that was accepted and has not ended. Its final result, a success or a failure, replaces this one in its place. */
export const ToolPending = z
  .object({
    ...everyResult,
    success: z.literal(false),
    outcome: z.literal('pending'),
    executed: z.enum(['no', 'maybe']),
    value: z.null(),
    error: z.null(),
    retry: z.null(),
    pending: PendingCall,
  })
  .meta({ id: 'ToolPending' });
export type ToolPending = z.infer<typeof ToolPending>;

/** How far a dry run has looked, and what it says of the call. */
export const DRY_RUN_DEPTHS = ['checked', 'previewed'] as const;
export const DRY_RUN_VERDICTS = ['run', 'ask', 'refuse', 'retry', 'replay'] as const;
export type DryRunVerdict = (typeof DRY_RUN_VERDICTS)[number];

export const DryRun = z
  .object({
    depth: z.enum(DRY_RUN_DEPTHS).describe('`previewed`: `value` is what the `preview` of the tool says.'),
    would: z
      .enum(DRY_RUN_VERDICTS)
      .describe(
        'What the call would do now: `run`; `ask`: wait for an approval; `refuse`, `retry`: fail as `error` says, and with `retry` the model could call better; `replay`: what an earlier call has left, or comes to, would answer it.',
      ),
    digest: z
      .string()
      .nullable()
      .describe('`sha256:` and 64 hex digits: what an approval would be for. Null where no approval is.'),
    rules: z
      .array(
        z.object({
          name: z.string(),
          remaining_after: z.string().describe('What the rule would leave after the call, a decimal number.'),
        }),
      )
      .describe('The rules that would count the call.'),
  })
  .meta({ id: 'DryRun' });
export type DryRun = Readonly<z.infer<typeof DryRun>>;

/** A call of a dry run, which has not run. */
export const ToolChecked = z
  .object({
    ...everyResult,
    success: z.literal(false),
    outcome: z.literal('checked'),
    executed: z.literal('no'),
    value: z.unknown().describe('What the `preview` of the tool says; else null.'),
    error: FailureDetail.nullable().describe('The failure that the call would have; null where it would have none.'),
    retry: z.null(),
    dry_run: DryRun,
  })
  .meta({ id: 'ToolChecked' });
export type ToolChecked = z.infer<typeof ToolChecked>;

export const ToolResult = z
  .discriminatedUnion('outcome', [ToolSuccess, ToolFailure, ToolPending, ToolChecked])
  .meta({ id: 'ToolResult' });
export type ToolResult = z.infer<typeof ToolResult>;

/** A result of a call as JSON text, with what is known of it: nothing is read from that text again. */
export type RenderedResult = {
  readonly json: string;
  /** The handle of the call, where it has not ended. */
  readonly handle: string | null;
  /** The value as JSON text, where the result is a success that says nothing more. */
  readonly plainValueJson: string | null;
};

export const ToolCallsResponse = z
  .object({
    request_id: z.string(),
    session_id: z.string().nullable(),
    status: z
      .enum(['pending', 'done'])
      .optional()
      .describe(
        'Only for batches that prefer an asynchronous answer: `pending` while any result is (202), else `done`.',
      ),
    results: z.array(ToolResult).describe('One per call, in the order of the calls.'),
    warnings: z
      .array(Warning)
      .min(1)
      .optional()
      .describe('Warnings about the request: `unknown_member` names an unknown member and the most similar known one.'),
  })
  .meta({ id: 'ToolCallsResponse' });
export type ToolCallsResponse = z.infer<typeof ToolCallsResponse>;

/** RFC 9457 problem details: the body of every answer that is not 200 or 204. */
export const Problem = z
  .object({
    type: z.string().describe('A URI reference that identifies the problem type.'),
    title: z.string(),
    status: z.int(),
    code: z.string().describe('The problem type as a stable code.'),
    detail: z.string().describe('What was wrong with this request and how to correct it.'),
    request_id: z.string(),
  })
  .meta({ id: 'Problem' });
export type Problem = Readonly<z.infer<typeof Problem>>;
