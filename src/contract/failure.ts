import * as z from 'zod';

/** Who is to blame: the model's call, the tool, what the tool talks to, a rule, or this service. */
export const FAULTS = ['caller', 'tool', 'upstream', 'policy', 'service'] as const;
export type Fault = (typeof FAULTS)[number];

/** What the agent should do next. `pending`: nothing yet, the call goes on. */
export const OUTCOMES = ['success', 'retry', 'failed', 'refused', 'unknown', 'pending'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Did the handler run, and may a side effect have happened? */
export const EXECUTED = ['yes', 'no', 'maybe'] as const;
export type Executed = (typeof EXECUTED)[number];

/** What a repeat of a tool may do. `read` and `idempotent` are safe to repeat. */
export const EFFECTS = ['read', 'idempotent', 'write'] as const;
export type Effects = (typeof EFFECTS)[number];

/** One row of the failure table. `safe` holds for read and idempotent tools, `write` for the others. */
export type FailurePolicy = {
  readonly fault: Fault;
  /** Counts as a failed round of the tool in its session; `unknown_names` = in the bucket all unknown names share. */
  readonly charges: boolean | 'unknown_names';
  readonly outcome: { readonly safe: Outcome; readonly write: Outcome };
  readonly executed: { readonly safe: Executed; readonly write: Executed };
  readonly when: string;
};

const same = <const T>(value: T): { readonly safe: T; readonly write: T } => ({ safe: value, write: value });
const refusedBy = (fault: Fault, when: string) =>
  ({ fault, charges: false, outcome: same('refused'), executed: same('no'), when }) as const;
const died = (when: string) =>
  ({
    fault: 'tool',
    charges: true,
    outcome: { safe: 'retry', write: 'unknown' },
    executed: same('maybe'),
    when,
  }) as const;

/** The closed list of failure codes and what each one means. The one source for results, metrics, logs and docs. */
export const FAILURE_POLICY = {
  invalid_call: {
    fault: 'caller',
    charges: false,
    outcome: same('retry'),
    executed: same('no'),
    when: 'The entry is not an object, has no usable name, an `id` over 16 KiB, or a bad `timeout_ms`. With `idempotency: "call_id"`: the `id` of a write cannot be its key, or is that of another call.',
  },
  unknown_tool: {
    fault: 'caller',
    charges: 'unknown_names',
    outcome: same('retry'),
    executed: same('no'),
    when: 'No tool has that name, or the operator has disabled it or must approve it first.',
  },
  tool_unavailable: refusedBy(
    'tool',
    'The tool is known and cannot be called now: its file, MCP server or import has not loaded, or it cannot run here.',
  ),
  invalid_arguments: {
    fault: 'caller',
    charges: true,
    outcome: same('retry'),
    executed: same('no'),
    when: 'The arguments are not JSON, not an object, too deep, or do not fit the schema.',
  },
  retry_requested: {
    fault: 'caller',
    charges: true,
    outcome: same('retry'),
    executed: { safe: 'yes', write: 'no' },
    when: 'The tool threw `RetryableToolError`: the call was wrong, and a corrected one may succeed.',
  },
  tool_failed: {
    fault: 'tool',
    charges: false,
    outcome: same('failed'),
    executed: same('yes'),
    when: 'The tool threw `TerminalToolError`: repeating the call is pointless.',
  },
  tool_exception: {
    fault: 'tool',
    charges: true,
    outcome: { safe: 'retry', write: 'unknown' },
    executed: { safe: 'yes', write: 'maybe' },
    when: 'The tool threw anything else. If graceful errors are off: `failed`, `fatal` and not charged.',
  },
  tool_crashed: died("The tool's process died."),
  out_of_memory: died("The tool's process ran out of memory."),
  interrupted: {
    fault: 'service',
    charges: false,
    outcome: { safe: 'retry', write: 'unknown' },
    executed: same('maybe'),
    when: 'Another call ended the process in which the call ran, or one of several that ran in it: which one is not known.',
  },
  timeout: died('The time limit of the call passed.'),
  invalid_output: {
    fault: 'tool',
    charges: false,
    outcome: { safe: 'failed', write: 'success' },
    executed: same('yes'),
    when: 'The value is not JSON or breaks the output schema. A write tool succeeds with a warning and a null value.',
  },
  output_too_large: {
    fault: 'tool',
    charges: true,
    outcome: { safe: 'retry', write: 'success' },
    executed: same('yes'),
    when: 'The value is over MAX_RESULT_BYTES, or the answer over MAX_ANSWER_BYTES. A write tool succeeds with a warning and a truncated value.',
  },
  upstream_rate_limited: {
    fault: 'upstream',
    charges: true,
    outcome: same('retry'),
    executed: same('no'),
    when: 'The upstream of the tool answered 429, also after the transport retried.',
  },
  upstream_unavailable: {
    fault: 'upstream',
    charges: true,
    outcome: { safe: 'retry', write: 'unknown' },
    executed: same('maybe'),
    when: 'The upstream of the tool could not be reached (executed: no), or its answer was lost (executed: maybe).',
  },
  not_authorized: refusedBy('policy', 'The API key may not use this tool.'),
  retry_budget_exhausted: refusedBy(
    'policy',
    "The tool's or the session's retries are used up, or the last one is still running.",
  ),
  call_limit_exceeded: refusedBy(
    'policy',
    'A limit of calls is reached: per batch, per session, per tool and session, or of pending calls.',
  ),
  loop_detected: refusedBy('policy', 'The same call was repeated with the same arguments.'),
  rule_refused: refusedBy(
    'policy',
    'A rule of the configuration does not let the call run now; `error.rule` names it.',
  ),
  approval_required: refusedBy(
    'policy',
    'A person has to approve the call first, and the request lacks `Prefer: respond-async`; `error.approval` names the approval.',
  ),
  approval_denied: refusedBy(
    'policy',
    'A person has denied the call; the same call is denied until the approval expires.',
  ),
  approval_expired: refusedBy('policy', 'Nobody decided on the call in time, or it was not called in time after that.'),
  approval_stale: refusedBy('policy', 'The tool, or the rights of the key, changed after the call was approved.'),
  circuit_open: refusedBy(
    'policy',
    "The tool's circuit breaker is open; `retry_after_ms` is the time until it admits a call.",
  ),
  async_required: refusedBy(
    'caller',
    'The tool runs in the background only, and the request lacks `Prefer: respond-async`.',
  ),
  not_executed: refusedBy('policy', 'Sequential with `on_error: "stop"`: an earlier call failed.'),
  cancelled: {
    fault: 'caller',
    charges: false,
    outcome: { safe: 'retry', write: 'unknown' },
    executed: same('maybe'),
    when: 'The call was cancelled, the client disconnected, or the batch deadline passed before the call started (then: refused, executed no).',
  },
  outcome_unknown: {
    fault: 'tool',
    charges: false,
    outcome: same('unknown'),
    executed: same('maybe'),
    when: 'An earlier attempt of this keyed write call started, and its outcome is unknown.',
  },
  overloaded: refusedBy(
    'service',
    'The call never got a slot to run in, or the service ran out of file descriptors, memory or processes (executed: maybe where a write had begun).',
  ),
  shutting_down: refusedBy('service', 'The service is stopping.'),
  store_unavailable: refusedBy(
    'service',
    'Redis is away, and the call needs it: a write with an Idempotency-Key or whose id is its key, a call that runs in the background, or any with RETRY_BUDGET_ON_STORE_DOWN=closed.',
  ),
  // Not `store_unavailable`, which sends people to Redis, nor `overloaded`, which sends callers back at once.
  audit_unavailable: refusedBy(
    'service',
    'AUDIT_REQUIRED is true and audit lines cannot be written now: no write runs until they can.',
  ),
  internal_error: {
    fault: 'service',
    charges: false,
    outcome: same('failed'),
    executed: same('maybe'),
    when: 'A bug of this service. It raises an alert.',
  },
} as const satisfies Record<string, FailurePolicy>;

export type FailureCode = keyof typeof FAILURE_POLICY;

/** The codes alone, in the order of the table. */
export const FAILURE_CODES = z.enum(Object.keys(FAILURE_POLICY) as [FailureCode, ...FailureCode[]]).options;
