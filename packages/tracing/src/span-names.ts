/**
 * Every name that spans carry. Those of `gen_ai.` are OpenTelemetry's conventions for GenAI, which are still
 * "Development" and change: only this file knows them.
 */
export const ATTRIBUTE = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  error: 'error.type',
  operation: 'gen_ai.operation.name',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  callId: 'gen_ai.tool.call.id',
  conversation: 'gen_ai.conversation.id',
  arguments: 'gen_ai.tool.call.arguments',
  result: 'gen_ai.tool.call.result',
  requestId: 'recourse.request_id',
  calls: 'recourse.calls',
  failed: 'recourse.failed',
  index: 'recourse.call.index',
  outcome: 'recourse.outcome',
  executed: 'recourse.executed',
  fault: 'recourse.fault',
  fatal: 'recourse.fatal',
  replayed: 'recourse.replayed',
  queueMs: 'recourse.queue_ms',
  retryAllowed: 'recourse.retry.allowed',
  retryRemaining: 'recourse.retry.remaining',
  retryLimitedBy: 'recourse.retry.limited_by',
} as const;

export const EXECUTE_TOOL = 'execute_tool';
/** A tool that the agent's side runs, and not the model's provider. */
export const TOOL_TYPE = 'extension';

export const nameCallSpan = (tool: string): string => `${EXECUTE_TOOL} ${tool}`;
export const nameRequestSpan = (method: string, route: string): string => `${method} ${route}`;
