import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from './failure.ts';

/** One thing that is wrong with the arguments. `path` is dotted, `""` for the whole. */
export const Issue = z
  .object({ path: z.string(), expected: z.string(), received: z.string(), message: z.string() })
  .meta({ id: 'Issue' });
export type Issue = Readonly<z.infer<typeof Issue>>;

export const Warning = z.object({ code: z.string(), message: z.string() }).meta({ id: 'Warning' });
export type Warning = Readonly<z.infer<typeof Warning>>;

/** Where a budget was kept: shared through Redis, in this process by design, or in this process because Redis is down. */
export const BUDGET_MODES = ['redis', 'memory', 'local'] as const;
export type BudgetMode = (typeof BUDGET_MODES)[number];

export const RetryState = z
  .object({
    allowed: z
      .boolean()
      .describe(
        'True: another call of the tool may help, and would run. False: the outcome is not `retry`, or no retries are left; a call made all the same is answered `retry_budget_exhausted`.',
      ),
    limit: z.int().nonnegative(),
    used: z.int().nonnegative(),
    remaining: z.int().nonnegative().describe('The smaller of what the tool and the session have left.'),
    limited_by: z.enum(['tool', 'session']),
    scope: z.enum(['session', 'request']),
    mode: z.enum(BUDGET_MODES),
  })
  .meta({ id: 'RetryState' });
export type RetryState = Readonly<z.infer<typeof RetryState>>;

export const FailureDetail = z
  .object({
    code: z.enum(FAILURE_CODES),
    type: z.string().describe("The exception's type name, or the code's own."),
    hint: z
      .string()
      .nullable()
      .describe("What to do differently, in the tool's words. `message` has it, too. Null where no retries are left."),
    issues: z.array(Issue),
    retry_after_ms: z.number().nonnegative().nullable(),
    fatal: z.boolean().describe('True tells the runtime to abort its run.'),
    reference: z.string().describe('The log holds the full exception under this id.'),
  })
  .meta({ id: 'FailureDetail' });
export type FailureDetail = z.infer<typeof FailureDetail>;

const everyResult = {
  index: z.int().nonnegative(),
  id: z.union([z.string(), z.number(), z.null()]),
  name: z.string().nullable(),
  executed: z.enum(EXECUTED),
  value: z.unknown(),
  message: z.string(),
  duration_ms: z.number().nonnegative(),
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
    outcome: z.enum(OUTCOMES).exclude(['success']),
    error: FailureDetail,
    retry: RetryState.nullable(),
  })
  .meta({ id: 'ToolFailure' });
export type ToolFailure = z.infer<typeof ToolFailure>;

export const ToolResult = z.discriminatedUnion('success', [ToolSuccess, ToolFailure]).meta({ id: 'ToolResult' });
export type ToolResult = z.infer<typeof ToolResult>;

export const ToolCallsResponse = z
  .object({
    request_id: z.string(),
    session_id: z.string().nullable(),
    results: z.array(ToolResult).describe('One per call, in the order of the calls.'),
    warnings: z
      .array(Warning)
      .min(1)
      .optional()
      .describe('Of the request: `unknown_member` names a member that is not known, and the one it is near.'),
  })
  .meta({ id: 'ToolCallsResponse' });
export type ToolCallsResponse = z.infer<typeof ToolCallsResponse>;
