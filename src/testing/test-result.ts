import { type FailureDetail, ToolResult } from '../contract/tool-result.ts';
import type { ToolProgress } from '../tools/tool.ts';

type Both = Omit<ToolResult, 'success' | 'error'> & {
  /** What the handler reported by `context.progress`, in its order. No part of what a caller of the service gets. */
  readonly progress: readonly ToolProgress[];
};

/** A call that succeeded: the result as the service answers it. */
export type TestSuccess = Readonly<Both & { success: true; error: null }>;

/** A call that did not: the result as the service answers it, and what was thrown. */
export type TestFailure = Readonly<
  Both & {
    success: false;
    error: FailureDetail;
    /** What the handler threw; undefined where it threw nothing. No part of what a caller of the service gets. */
    thrown: unknown;
  }
>;

/** One result. `success` tells which of the two it is. */
export type TestResult = TestSuccess | TestFailure;

type Beside = { readonly progress: readonly ToolProgress[]; readonly thrownUnder: (reference: string) => unknown };

/** Reads a result as the executor wrote it. */
export const toTestResult = (json: string, { progress, thrownUnder }: Beside): TestResult => {
  const result = ToolResult.parse(JSON.parse(json));
  if (result.error === null) return { ...result, success: true, error: null, progress };
  const { error } = result;
  return { ...result, success: false, error, progress, thrown: thrownUnder(error.reference) };
};
