import { type Executed, FAILURE_POLICY, type FailureCode, type Outcome } from '../contract/failure.ts';
import type { Approval, Issue, Warning } from '../contract/tool-result.ts';
import { isSafe, type Tool } from '../tools/tool.ts';

/** Why a call did not succeed, before the budget has its say. `message` is what the model reads. */
export type Failure = {
  readonly code: FailureCode;
  readonly message: string;
  /** The exception's type name, or the code. */
  readonly type: string;
  readonly hint: string | null;
  /** Of all `issueCount` problems of the arguments the first hundred; the text for the model lists the first ten. */
  readonly issues: readonly Issue[];
  readonly issueCount: number;
  readonly retryAfterMs: number | null;
  readonly fatal: boolean;
  /** What the model should do next, and whether the handler ran. */
  readonly outcome: Outcome;
  readonly executed: Executed;
  /** A structured error payload the tool supplied, else null. */
  readonly payload: unknown;
  /** The original exception, for the log; undefined where nothing was thrown. */
  readonly thrown: unknown;
  /** Which decision kept it from running; left out: none did. */
  readonly decision?: { readonly rule?: string; readonly approval?: Approval };
};

type Details = Partial<Omit<Failure, 'code' | 'message'>>;

/** A failure with what the policy table says of its code and the tool's effects; `details` overrule. */
export const toFailure = (
  code: FailureCode,
  message: string,
  tool: Pick<Tool, 'effects'> | null,
  details: Details = NO_DETAILS,
): Failure => {
  const policy = FAILURE_POLICY[code];
  const column = tool === null || isSafe(tool) ? 'safe' : 'write';
  const { type = code, hint = null, issues = NO_ISSUES, issueCount = 0, retryAfterMs = null } = details;
  const { fatal = false, payload = null, thrown } = details;
  const { outcome = policy.outcome[column], executed = policy.executed[column] } = details;
  const failure = {
    code,
    message,
    type,
    hint,
    issues,
    issueCount,
    retryAfterMs,
    fatal,
    outcome,
    executed,
    payload,
    thrown,
  };
  return details.decision === undefined ? failure : { ...failure, decision: details.decision };
};

const NO_DETAILS: Details = {};
const NO_ISSUES: readonly Issue[] = [];

/** A check has found out how a write ended that was unknown. */
export type Reconciled = {
  /** Who found out: the tool's check, the run itself after its answer, a person. */
  readonly by: 'tool' | 'run' | 'person';
  /** How often was looked. */
  readonly attempts: number;
  /** Milliseconds from the end of the run, or from when it was taken for dead. */
  readonly after_ms: number;
};

export type SuccessOutcome = {
  readonly kind: 'success';
  readonly valueJson: string;
  readonly message: string;
  readonly executed: Executed;
  readonly marks: readonly ('empty' | 'truncated')[];
  readonly warnings: readonly Warning[];
  /** Left out: the run itself has said so. */
  readonly reconciled?: Reconciled;
  /** As its caller reads it, where that differs: with the secrets that the caller itself sent. */
  readonly forCaller?: CallOutcome;
};

export type FailureOutcome = {
  readonly kind: 'failure';
  readonly failure: Failure;
  readonly valueJson: string;
  /** A check has found that the write did not take effect: the same key runs it again. */
  readonly reconciled?: Reconciled;
  readonly forCaller?: CallOutcome;
};

/** How a call ended, with its value already proved to be JSON. */
export type CallOutcome = SuccessOutcome | FailureOutcome;

export const failed = (failure: Failure, valueJson = 'null'): FailureOutcome => ({
  kind: 'failure',
  failure,
  valueJson,
});
