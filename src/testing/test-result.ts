import { ToolResult } from '../contract/tool-result.ts';
import type { ToolProgress } from '../tools/tool.ts';
import type { TestResult } from './tester.ts';

type Beside = { readonly progress: readonly ToolProgress[]; readonly thrownUnder: (reference: string) => unknown };

/** Reads a result as the executor wrote it. */
export const toTestResult = (json: string, { progress, thrownUnder }: Beside): TestResult => {
  const result = ToolResult.parse(JSON.parse(json));
  if (result.error === null) return { ...result, success: true, error: null, progress };
  const { error } = result;
  return { ...result, success: false, error, progress, thrown: thrownUnder(error.reference) };
};
