export type {
  AnswerCallOptions,
  AnswerMessageOptions,
  Answers,
  CallAnswer,
  MessageAnswer,
  ModelCall,
} from './create-answers.ts';
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
export type { Stream } from './create-stream.ts';
export { toCallKey, toTurnKey } from './derive-key.ts';
export { isFatal, isRetryable, mayHaveRun } from './judge-result.ts';
export type { CatalogueFormat, MessageFormat, MessageOf, ToolOf } from './message-formats.ts';
export type { CancelOptions, PendingResults, ResultsAnswer, ResultsOptions } from './pending-results.ts';
export { RecourseError } from './recourse-error.ts';
export type {
  DryRun,
  FailureCode,
  FailureDetail,
  PendingCall,
  Problem,
  Reconciled,
  RetryState,
  SessionView,
  StreamEvent,
  ToolCall,
  ToolChecked,
  ToolDescription,
  ToolFailure,
  ToolPending,
  ToolResult,
  ToolSuccess,
} from './wire.ts';
export type { ConversationFormat } from './write-answers.ts';
