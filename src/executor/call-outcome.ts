import type { Executed } from '../contract/failure.ts';
import type { Warning } from '../contract/tool-result.ts';
import type { Failure } from './failure.ts';

export type SuccessOutcome = {
  readonly kind: 'success';
  readonly valueJson: string;
  readonly message: string;
  readonly executed: Executed;
  readonly marks: readonly ('empty' | 'truncated')[];
  readonly warnings: readonly Warning[];
};

export type FailureOutcome = { readonly kind: 'failure'; readonly failure: Failure; readonly valueJson: string };

/** How a call ended, with its value already proved to be JSON. */
export type CallOutcome = SuccessOutcome | FailureOutcome;

export const failed = (failure: Failure, valueJson = 'null'): FailureOutcome => ({
  kind: 'failure',
  failure,
  valueJson,
});
