import type { FailureDetail, RetryState, ToolFailure, ToolPending, ToolSuccess } from '#src/contract/tool-result.ts';

const BASE: ToolSuccess = {
  index: 0,
  id: 'call_1',
  name: 'read_file',
  success: true,
  outcome: 'success',
  executed: 'yes',
  value: null,
  message: '',
  error: null,
  retry: null,
  duration_ms: 1,
};

/** A result as the service gives it for a call that went well. */
export const succeeded = (value: unknown, more: Partial<ToolSuccess> = {}): ToolSuccess => ({
  ...BASE,
  value,
  ...more,
});

/** The budget of a tool with three retries, with this many left. */
export const retriesLeft = (remaining: number, more: Partial<RetryState> = {}): RetryState => ({
  allowed: remaining > 0,
  limit: 3,
  used: 3 - remaining,
  remaining,
  limited_by: 'tool',
  scope: 'session',
  mode: 'memory',
  ...more,
});

/** A result as the service gives it for a call that failed. */
export const failed = (
  message: string,
  error: Partial<FailureDetail> = {},
  more: Partial<ToolFailure> = {},
): ToolFailure => ({
  ...BASE,
  success: false,
  outcome: 'retry',
  message,
  error: {
    code: 'tool_exception',
    type: 'Error',
    hint: null,
    issues: [],
    retry_after_ms: null,
    fatal: false,
    reference: '01M7YS1XMGYJ2WFDYMYSPV5GWY',
    ...error,
  },
  ...more,
});

/** A result as the service gives it for a call that has not ended. */
export const pending = (message: string, more: Partial<ToolPending> = {}): ToolPending => ({
  ...BASE,
  value: null,
  success: false,
  outcome: 'pending',
  executed: 'maybe',
  message,
  pending: {
    call: 'c_AAAAAAAAAAAAAAAAAAAAAA',
    state: 'running',
    since: '2026-11-23T12:00:00.000Z',
    expires_at: '2026-11-23T13:00:00.000Z',
    poll_after_ms: 2000,
    progress: null,
    approval: null,
  },
  duration_ms: 10_000,
  ...more,
});
