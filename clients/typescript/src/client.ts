export type { Answer, Execute, ExecuteOptions, MessagesAnswer, RawAnswer, SendLimits } from './create-execute.ts';
// biome-ignore lint/performance/noBarrelFile: the one public entry.
export {
  createRecourse,
  type Recourse,
  type RecourseOptions,
  type RecourseSession,
  type RecoveredAnswer,
  type ToolsOptions,
} from './create-recourse.ts';
export { isFatal, isRetryable, mayHaveRun } from './judge-result.ts';
export type { CatalogueFormat, MessageFormat, MessageOf, ToolOf } from './message-formats.ts';
export { RecourseError } from './recourse-error.ts';
export type {
  FailureCode,
  FailureDetail,
  Problem,
  RetryState,
  SessionView,
  ToolCall,
  ToolDescription,
  ToolFailure,
  ToolResult,
  ToolSuccess,
} from './wire.ts';
