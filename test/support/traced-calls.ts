import type { ToolInvoked, TracedAnswer, TracedCall } from '#src/executor/call-observer.ts';

/** The event of a call of `add` that succeeded, but for what is said otherwise. */
export const toEvent = (otherwise: Partial<ToolInvoked> = {}): ToolInvoked => ({
  requestId: 'request_0123456789',
  traceId: null,
  tenant: 'acme',
  key: null,
  session: null,
  index: 0,
  callId: 'call_1',
  tool: 'add',
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  fatal: false,
  replayed: false,
  durationMs: 1,
  message: '',
  valueJson: '3',
  ...otherwise,
});

export const NO_ARGUMENTS: TracedAnswer = { argumentsText: () => '{}', retry: null };

/** A call of `add` that is ready to run. */
export const ADD: TracedCall = { index: 0, tool: { name: 'add' } };
