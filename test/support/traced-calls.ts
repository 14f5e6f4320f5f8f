import type { TracedAnswer } from '#src/executor/batch-trace.ts';
import type { ToolInvoked } from '#src/executor/call-observer.ts';
import type { ReadyCall } from '#src/executor/resolve-call.ts';
import { defineTool } from '#src/recourse.ts';

/** The event of a call of `add` that succeeded, but for what is said otherwise. */
export const toEvent = (otherwise: Partial<ToolInvoked> = {}): ToolInvoked => ({
  requestId: 'request_0123456789',
  traceId: null,
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
export const ADD: ReadyCall = {
  kind: 'ready',
  index: 0,
  id: 'call_1',
  name: 'add',
  tool: defineTool({ name: 'add', description: '', effects: 'read', input: { type: 'object' }, run: () => 3 }),
  given: {},
  timeoutMs: 1000,
};
