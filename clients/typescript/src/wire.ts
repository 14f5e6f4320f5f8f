import type { components } from './generated/api.ts';

type Schemas = components['schemas'];

/** What became of one call: `success` tells which. */
export type ToolResult = Schemas['ToolResult'];
export type ToolSuccess = Schemas['ToolSuccess'];
/** `error` is never null here. */
export type ToolFailure = Schemas['ToolFailure'];
/** The call was accepted and has not ended: `pending` says what it waits for, and `error` is null. */
export type ToolPending = Schemas['ToolPending'];
/** A call of a dry run: `dry_run` says what it would do, and `error` is the failure that it would have, if any. */
export type ToolChecked = Schemas['ToolChecked'];
export type DryRun = Schemas['DryRun'];
export type PendingCall = Schemas['PendingCall'];
/** Why a call failed: a code of the closed list, and what else is known. */
export type FailureDetail = Schemas['FailureDetail'];
export type FailureCode = FailureDetail['code'];
/** It was unknown how a write ended, and was found out. */
export type Reconciled = Schemas['Reconciled'];
/** What a session still has for a tool. */
export type RetryState = Schemas['RetryState'];
/** What happens while a batch runs: `event` tells what its `data` is. */
export type StreamEvent = Schemas['StreamEvent'];
/** A tool as the service's own catalogue describes it. */
export type ToolDescription = Schemas['ToolDescription'];
/** What the service knows of a session. */
export type SessionView = Schemas['SessionView'];
/** Why the service did not take a request (RFC 9457). */
export type Problem = Schemas['Problem'];

/** One call as a model asks for it. */
export type ToolCall = {
  /** Echoed in the result; never taken for an idempotency key. */
  readonly id?: string | number | null;
  readonly name: string;
  /** An object, or a JSON text that holds one. */
  readonly arguments?: object | string | null;
  /** May only shorten the tool's own limit. */
  readonly timeout_ms?: number;
};
